"""An interpreter of pickles that imports nothing and calls nothing that the file names.

Pickle is a language for a stack machine. Its instructions for data are all here; those that name
a type find it in the closed list of ``_types``, whose own functions then make the object.

Note [Hostile pickles]
A file may be anybody's, so three things hold at every instruction:
- What it announces is compared with what is there before anything is allocated for it, and what it
  makes is paid from a budget: a few bytes can ask for all memory, by doubling or by a size.
- Objects on the stack are tested by ``type(x) is``, never by ``isinstance``: a class that the user
  allows may be a list or a dict whose methods run code.
- Time grows with the size of the file and no faster: numbers whose conversion and keys whose hash
  would take more are refused, and so is what is nested too deep for Python to walk.
"""

from __future__ import annotations

import codecs
import pickle
import pickletools
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

from facula.serialization import _types
from facula.serialization._errors import CallerError, CheckpointError
from facula.serialization._modules import Objects
from facula.serialization._source import Budget

# Deeper than Python's own pickler can write: comparing or printing such objects would overflow.
MAX_DEPTH = 1000

_NAMES = {ord(opcode.code): opcode.name for opcode in pickletools.opcodes}

# Bytes of memory that an instruction takes at most, apart from what depends on its argument. A
# reference counts twice: a container that grows holds its old and its new memory for a moment.
_REFERENCE = 16
_COSTS = {
    pickle.MARK: 80,
    pickle.EMPTY_DICT: 80,
    pickle.EMPTY_LIST: 72,
    pickle.EMPTY_SET: 232,
    pickle.BININT: 48,
    pickle.BININT2: 48,
    pickle.BINFLOAT: 40,
    pickle.FLOAT: 40,
    pickle.TUPLE1: 80,
    pickle.TUPLE2: 80,
    pickle.TUPLE3: 80,
    pickle.SETITEM: 176,
    pickle.REDUCE: 64,
    pickle.NEWOBJ: 64,
}
_COST = [_REFERENCE] * 256
for _opcode, _bytes in _COSTS.items():
    _COST[_opcode[0]] = _bytes
del _opcode, _bytes

_INT32 = struct.Struct("<i")
_UINT16 = struct.Struct("<H")
_UINT32 = struct.Struct("<I")
_UINT64 = struct.Struct("<Q")
_FLOAT64 = struct.Struct(">d")


class Interpreter:
    """Reads one pickle.

    Args:
        data: bytes that have the pickle.
        start: where in the bytes the pickle begins.
        persistent_load: function that makes the object of a persistent id.
        budget: the memory that the objects of the pickle may take.
        encoding: how the byte strings of Python 2 are decoded; ``"bytes"`` keeps them.
        where: the name of the record, for messages.
        has_bytes: whether storages have their bytes already.
    """

    def __init__(
        self,
        data: bytes,
        start: int,
        persistent_load: Callable[[Any], Any],
        budget: Budget,
        encoding: str,
        where: str,
        has_bytes: bool = True,
    ) -> None:
        self._data = data
        self._view = memoryview(data)
        self._persistent_load = persistent_load
        self._budget = budget
        self._encoding = encoding
        self._where = where
        self._types = _types.Types(budget, has_bytes)
        self._position = start
        # A mark begins a stack of its own and keeps the one below it: so no instruction can reach
        # under a mark, and a mark is no object that a file could store or call.
        self._stack: list[Any] = []
        self._below_marks: list[list[Any]] = []
        # Picklers count their memo from 0 without gaps; only other files need the dict.
        self._memo: list[Any] = []
        self._sparse_memo: dict[int, Any] = {}

    def load(self) -> tuple[Any, int]:
        """The object, and where the pickle ends."""
        data, budget, n = self._data, self._budget, len(self._data)
        at = self._position
        try:
            while True:
                at = self._position
                if at >= n:
                    raise CheckpointError("the pickle is cut short")
                opcode = data[at]
                self._position = at + 1
                if opcode == _STOP:
                    break
                # Budget.spend by hand: its call would take as long as most instructions.
                budget.left -= _COST[opcode]
                if budget.left < 0:
                    budget.spend(0)
                run = _RUN.get(opcode)
                if run is None:
                    raise CheckpointError(_refusal(opcode), found=data[at : at + 1])
                run(self)
            if self._below_marks or len(self._stack) != 1:
                raise CheckpointError("the pickle ends with a stack that has not one object")
            self._memo.clear()
            # Only now: through the memo a container can be filled long after it was nested.
            self._types.objects.pay()
            _check_depth(self._stack[0], budget, self._types.objects)
            self._types.objects.finish()
        except CheckpointError as error:
            raise self._located(str(error), at, error.found) from error.__cause__
        except CallerError:
            raise
        except Exception as error:  # whatever Python minds is then a fault of the file
            what = f"{type(error).__name__}: {error}"
            raise self._located(what, at, data[at : at + 1]) from error
        return self._stack[0], self._position

    def _located(self, what: str, at: int, found: Any) -> CheckpointError:
        name = _NAMES.get(self._data[at], "unknown") if at < len(self._data) else "end"
        return CheckpointError(
            f"load: {self._where}, byte {at} (instruction {name}): {what}", at, found
        )

    # What instructions have in common.

    def _take(self, n: int) -> memoryview:
        # A view: a file of nothing but announcements would otherwise copy itself over and over.
        start = self._position
        if n > len(self._data) - start:
            raise CheckpointError(
                f"{n} bytes are announced, and {len(self._data) - start} are left", found=n
            )
        self._position = start + n
        return self._view[start : start + n]

    def _number(self, kind: struct.Struct) -> Any:
        return kind.unpack(self._take(kind.size))[0]

    def _line(self) -> bytes:
        end = self._data.find(b"\n", self._position)
        if end < 0:
            raise CheckpointError("a line is cut short")
        line = self._data[self._position : end]
        self._position = end + 1
        return line

    def _pop(self) -> Any:
        if not self._stack:
            raise CheckpointError("the stack is empty")
        return self._stack.pop()

    def _pop_to_mark(self) -> list[Any]:
        if not self._below_marks:
            raise CheckpointError("there is no mark on the stack")
        items = self._stack
        self._stack = self._below_marks.pop()
        return items

    def _top(self) -> Any:
        if not self._stack:
            raise CheckpointError("the stack is empty")
        return self._stack[-1]

    def _sized(self, kind: struct.Struct | None) -> memoryview:
        data = self._take(self._take(1)[0] if kind is None else self._number(kind))
        self._budget.spend(len(data) + 56)
        return data

    # Numbers and constants.

    def _proto(self) -> None:
        version = self._take(1)[0]
        if version > 5:
            raise CheckpointError(f"pickle protocol {version} is unknown", found=version)

    def _frame(self) -> None:
        # Frames help readers that read ahead. All bytes are here, so the size is only compared.
        n = self._number(_UINT64)
        if n > len(self._data) - self._position:
            raise CheckpointError(
                f"a frame of {n} bytes is announced, which are not there", found=n
            )

    def _none(self) -> None:
        self._stack.append(None)

    def _true(self) -> None:
        self._stack.append(True)

    def _false(self) -> None:
        self._stack.append(False)

    def _int(self) -> None:
        line = self._line()
        values = {b"00": False, b"01": True}  # the booleans of protocol 0 and 1
        self._stack.append(values[line] if line in values else self._decimal(line))

    def _decimal(self, line: bytes) -> int:
        if len(line) > 4000:  # the time of the conversion grows with the square of its length
            raise CheckpointError(f"a decimal number of {len(line)} digits")
        self._budget.spend(32 + len(line))
        return int(line)

    def _binint(self) -> None:
        self._stack.append(self._number(_INT32))

    def _binint1(self) -> None:
        self._stack.append(self._take(1)[0])

    def _binint2(self) -> None:
        self._stack.append(self._number(_UINT16))

    def _long(self) -> None:
        self._stack.append(self._decimal(self._line().removesuffix(b"L")))

    def _long1(self) -> None:
        self._stack.append(int.from_bytes(self._sized(None), "little", signed=True))

    def _long4(self) -> None:
        self._stack.append(int.from_bytes(self._sized(_UINT32), "little", signed=True))

    def _float(self) -> None:
        self._stack.append(float(self._line()))

    def _binfloat(self) -> None:
        self._stack.append(self._number(_FLOAT64))

    # Strings and bytes.

    def _push_text(self, data: memoryview) -> None:
        # A string has one, two or four bytes for each character.
        text = str(data, "utf-8", "surrogatepass")
        self._budget.spend(text.__sizeof__() - len(data) if data else 0)
        self._stack.append(text)

    def _unicode(self) -> None:
        line = self._line()
        self._budget.spend(4 * len(line) + 56)
        self._stack.append(str(line, "raw-unicode-escape"))

    def _binunicode(self) -> None:
        self._push_text(self._sized(_UINT32))

    def _short_binunicode(self) -> None:
        self._push_text(self._sized(None))

    def _binunicode8(self) -> None:
        self._push_text(self._sized(_UINT64))

    def _push_old_string(self, data: bytes) -> None:
        is_bytes = self._encoding == "bytes"
        self._budget.spend(4 * len(data))  # a character has at most four bytes
        self._stack.append(data if is_bytes else data.decode(self._encoding))

    def _string(self) -> None:
        line = self._line().strip()
        if len(line) < 2 or line[:1] != line[-1:] or line[:1] not in b"\"'":
            raise CheckpointError("a string without quotes")
        self._budget.spend(4 * len(line) + 56)
        self._push_old_string(codecs.escape_decode(line[1:-1])[0])

    def _binstring(self) -> None:
        self._push_old_string(bytes(self._sized(_UINT32)))

    def _short_binstring(self) -> None:
        self._push_old_string(bytes(self._sized(None)))

    def _binbytes(self) -> None:
        self._stack.append(bytes(self._sized(_UINT32)))

    def _short_binbytes(self) -> None:
        self._stack.append(bytes(self._sized(None)))

    def _binbytes8(self) -> None:
        self._stack.append(bytes(self._sized(_UINT64)))

    def _bytearray8(self) -> None:
        self._stack.append(bytearray(self._sized(_UINT64)))

    # Containers.

    def _mark(self) -> None:
        self._below_marks.append(self._stack)
        self._stack = []

    def _pop_one(self) -> None:
        if self._stack:
            self._stack.pop()
        else:  # what is on top is the mark itself
            self._pop_to_mark()

    def _dup(self) -> None:
        self._stack.append(self._top())

    def _empty_tuple(self) -> None:
        self._stack.append(())

    def _tuple(self) -> None:
        items = self._pop_to_mark()
        self._budget.spend(56 + 8 * len(items))
        self._stack.append(tuple(items))

    def _tuple_of(self, n: int) -> None:
        if len(self._stack) < n:
            raise CheckpointError("the stack is empty")
        items = tuple(self._stack[-n:])
        self._stack[-n:] = [items]

    def _tuple1(self) -> None:
        self._tuple_of(1)

    def _tuple2(self) -> None:
        self._tuple_of(2)

    def _tuple3(self) -> None:
        self._tuple_of(3)

    def _empty_list(self) -> None:
        self._stack.append([])

    def _list(self) -> None:
        items = self._pop_to_mark()  # the stack above the mark becomes the list: nothing is copied
        self._stack.append(items)

    def _list_on_top(self) -> list[Any]:
        top = self._top()
        if type(top) is not list:
            raise CheckpointError(f"append to a {type(top).__name__}, which is no list", found=top)
        return top

    def _append(self) -> None:
        item = self._pop()
        self._list_on_top().append(item)

    def _appends(self) -> None:
        items = self._pop_to_mark()
        self._list_on_top().extend(items)

    def _empty_dict(self) -> None:
        self._stack.append({})

    def _dict(self) -> None:
        items = self._pop_to_mark()
        self._stack.append({})
        self._set_items(items)

    def _setitem(self) -> None:
        value, key = self._pop(), self._pop()
        self._set_items([key, value])

    def _setitems(self) -> None:
        self._set_items(self._pop_to_mark())

    def _set_items(self, items: list[Any]) -> None:
        top = self._top()
        if type(top) not in (dict, OrderedDict, Counter):
            raise CheckpointError(f"set an item of a {type(top).__name__}, which is no dict")
        if len(items) % 2:
            raise CheckpointError("a key without a value")
        # Paid before the dict grows, also for keys that it has already: the file chooses them.
        per_item = 120 if type(top) is OrderedDict else 60
        self._budget.spend(per_item * (len(items) // 2) + 160)
        for i in range(0, len(items), 2):
            top[_types.checked_key(items[i])] = items[i + 1]

    def _empty_set(self) -> None:
        self._stack.append(set())

    def _additems(self) -> None:
        items, top = self._pop_to_mark(), self._top()
        if type(top) is not set:
            raise CheckpointError(f"add to a {type(top).__name__}, which is no set", found=top)
        self._budget.spend(80 * len(items))
        top.update(map(_types.checked_key, items))

    def _frozenset(self) -> None:
        items = self._pop_to_mark()
        self._budget.spend(232 + 80 * len(items))
        self._stack.append(frozenset(map(_types.checked_key, items)))

    # The memo.

    def _put_at(self, index: int) -> None:
        value, memo = self._top(), self._memo
        if index == len(memo):
            memo.append(value)
        elif 0 <= index < len(memo):
            memo[index] = value
        elif index < 0:
            raise CheckpointError(f"memo index {index}", found=index)
        else:  # never a longer list: the index is of the file's choice, up to 2**32
            self._budget.spend(120)
            self._sparse_memo[index] = value

    def _get_at(self, index: int) -> None:
        if 0 <= index < len(self._memo):
            self._stack.append(self._memo[index])
        elif index in self._sparse_memo:
            self._stack.append(self._sparse_memo[index])
        else:
            raise CheckpointError(f"nothing is in the memo at {index}", found=index)

    def _put(self) -> None:
        self._put_at(self._decimal(self._line()))

    def _binput(self) -> None:
        self._put_at(self._take(1)[0])

    def _long_binput(self) -> None:
        self._put_at(self._number(_UINT32))

    def _memoize(self) -> None:
        # As the standard reader: the number of entries is the next index.
        self._put_at(len(self._memo) + len(self._sparse_memo))

    def _get(self) -> None:
        self._get_at(self._decimal(self._line()))

    def _binget(self) -> None:
        self._get_at(self._take(1)[0])

    def _long_binget(self) -> None:
        self._get_at(self._number(_UINT32))

    # Types, and objects of them.

    def _global(self) -> None:
        module, name = self._line(), self._line()
        self._stack.append(self._types.find(module.decode(), name.decode()))

    def _stack_global(self) -> None:
        name, module = self._pop(), self._pop()
        if type(name) is not str or type(module) is not str:
            raise CheckpointError("a type is named by something that is no string")
        self._stack.append(self._types.find(module, name))

    def _reduce(self) -> None:
        # The one place where pickle calls functions; here, those of the list and no others.
        args, function = self._pop(), self._pop()
        self._stack.append(self._types.call(function, args))

    def _newobj(self) -> None:
        args, cls = self._pop(), self._pop()
        self._stack.append(self._types.new(cls, args, {}))

    def _newobj_ex(self) -> None:
        kwargs, args, cls = self._pop(), self._pop(), self._pop()
        self._stack.append(self._types.new(cls, args, kwargs))

    def _build(self) -> None:
        state = self._pop()
        self._types.build(self._top(), state)

    def _persid(self) -> None:
        self._stack.append(self._persistent_load(self._line().decode("ascii")))

    def _binpersid(self) -> None:
        self._stack.append(self._persistent_load(self._pop()))


def _refusal(opcode: int) -> str:
    name = _NAMES.get(opcode)
    if name is None:
        return f"byte {opcode:#04x} is no instruction"
    return f"the instruction {name} is not one that a checkpoint has"


def _check_depth(root: Any, budget: Budget, objects: Objects) -> None:
    """Refuse objects nested so deeply that Python cannot compare, print or hash them."""
    # A walk with a stack of its own, over each container once: the same list may be reached on
    # many ways, whose number grows with the power of the depth. A cycle meets a height of 0.
    heights: dict[int, int] = {}  # by the id of a container; 0 while it is on the path
    path: list[list[Any]] = []  # from the root down: id, what is left of its items, height so far
    child: Any = (root,)
    while True:
        is_nesting = isinstance(child, _NESTING) or child in objects
        if is_nesting and id(child) not in heights:
            if len(path) > MAX_DEPTH:
                raise CheckpointError(f"objects are nested more than {MAX_DEPTH} deep")
            budget.spend(120)
            heights[id(child)] = 0
            inner = objects.state_of(child) if child in objects else child
            path.append([id(child), iter(inner.values() if isinstance(inner, dict) else inner), 0])
        elif is_nesting:
            path[-1][2] = max(path[-1][2], heights[id(child)])
        try:
            child = next(path[-1][1])
        except StopIteration:
            done, _, height = path.pop()
            if len(path) + height > MAX_DEPTH:
                raise CheckpointError(f"objects are nested more than {MAX_DEPTH} deep") from None
            if not path:
                return
            heights[done] = height + 1
            path[-1][2] = max(path[-1][2], height + 1)
            child = None


_NESTING = (tuple, list, dict)

# What is not here is refused: the old ways to make instances (INST, OBJ), the registry of short
# names for types (EXT1, EXT2, EXT4), and buffers that lie outside of the pickle.
_STOP = pickle.STOP[0]
_I = Interpreter
_RUN: dict[int, Callable[[Interpreter], Any]] = {
    code[0]: run
    for code, run in {
        pickle.PROTO: _I._proto,
        pickle.FRAME: _I._frame,
        pickle.NONE: _I._none,
        pickle.NEWTRUE: _I._true,
        pickle.NEWFALSE: _I._false,
        pickle.INT: _I._int,
        pickle.BININT: _I._binint,
        pickle.BININT1: _I._binint1,
        pickle.BININT2: _I._binint2,
        pickle.LONG: _I._long,
        pickle.LONG1: _I._long1,
        pickle.LONG4: _I._long4,
        pickle.FLOAT: _I._float,
        pickle.BINFLOAT: _I._binfloat,
        pickle.UNICODE: _I._unicode,
        pickle.BINUNICODE: _I._binunicode,
        pickle.SHORT_BINUNICODE: _I._short_binunicode,
        pickle.BINUNICODE8: _I._binunicode8,
        pickle.STRING: _I._string,
        pickle.BINSTRING: _I._binstring,
        pickle.SHORT_BINSTRING: _I._short_binstring,
        pickle.BINBYTES: _I._binbytes,
        pickle.SHORT_BINBYTES: _I._short_binbytes,
        pickle.BINBYTES8: _I._binbytes8,
        pickle.BYTEARRAY8: _I._bytearray8,
        pickle.MARK: _I._mark,
        pickle.POP: _I._pop_one,
        pickle.POP_MARK: _I._pop_to_mark,
        pickle.DUP: _I._dup,
        pickle.EMPTY_TUPLE: _I._empty_tuple,
        pickle.TUPLE: _I._tuple,
        pickle.TUPLE1: _I._tuple1,
        pickle.TUPLE2: _I._tuple2,
        pickle.TUPLE3: _I._tuple3,
        pickle.EMPTY_LIST: _I._empty_list,
        pickle.LIST: _I._list,
        pickle.APPEND: _I._append,
        pickle.APPENDS: _I._appends,
        pickle.EMPTY_DICT: _I._empty_dict,
        pickle.DICT: _I._dict,
        pickle.SETITEM: _I._setitem,
        pickle.SETITEMS: _I._setitems,
        pickle.EMPTY_SET: _I._empty_set,
        pickle.ADDITEMS: _I._additems,
        pickle.FROZENSET: _I._frozenset,
        pickle.PUT: _I._put,
        pickle.BINPUT: _I._binput,
        pickle.LONG_BINPUT: _I._long_binput,
        pickle.MEMOIZE: _I._memoize,
        pickle.GET: _I._get,
        pickle.BINGET: _I._binget,
        pickle.LONG_BINGET: _I._long_binget,
        pickle.GLOBAL: _I._global,
        pickle.STACK_GLOBAL: _I._stack_global,
        pickle.REDUCE: _I._reduce,
        pickle.NEWOBJ: _I._newobj,
        pickle.NEWOBJ_EX: _I._newobj_ex,
        pickle.BUILD: _I._build,
        pickle.PERSID: _I._persid,
        pickle.BINPERSID: _I._binpersid,
    }.items()
}
