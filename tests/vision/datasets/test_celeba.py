import file_formats
import pytest
import vision_files as files

from facula.vision import datasets

pytestmark = pytest.mark.promise("D3")


def test_files_of_google_drive_are_asked_for_by_id(tmp_path, network):
    folder = files.made(files.celeba, tmp_path) / "celeba"
    for path in folder.glob("*.txt"):
        network[path.name] = path.read_bytes()
    network["img_align_celeba.zip"] = files.archive_of(folder, "x.zip")
    data = datasets.CelebA(tmp_path / "root", download=True)
    assert (len(data), data[0][0].size) == (3, (6, 4))
    assert [url.rpartition("=")[2] for url in network.asked] == [row[0] for row in data.file_list]


def test_a_damaged_table_of_people_is_named(tmp_path, any_hash):
    files.celeba(tmp_path)
    file_formats.text(tmp_path / "celeba" / "identity_CelebA.txt", "000001.jpg x")
    with pytest.raises(ValueError, match=r"identity_CelebA.txt is damaged"):
        datasets.CelebA(tmp_path)


def test_names_of_celeba_have_no_empty_one(tmp_path, any_hash):
    files.celeba(tmp_path)
    path = tmp_path / "celeba" / "list_attr_celeba.txt"
    path.write_text(path.read_text().replace("Attr39\n", "Attr39 \n"))  # as in the real file
    assert len(datasets.CelebA(tmp_path).attr_names) == 40
