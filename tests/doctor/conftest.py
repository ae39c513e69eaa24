"""The programs that the tests of the doctor run are no modules to import."""

collect_ignore_glob = ["correct/*", "faulty/*"]
