"""Lets torch's build for GPUs be loaded where CUDA's libraries are not: `python stubs.py SITE_PACKAGES`.

PyPI's torch for Linux is linked to some 4 GB of CUDA's libraries, none of which is called on a CPU. In their place come
empty libraries that define the same symbols, in the same versions, each a function that returns 1. Needs gcc.
"""

import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from elftools.elf.elffile import ELFFile

UNVERSIONED = ""
COMPILE_SECONDS = 120
PYTHONS = ("Py", "_Py")
"""How the symbols begin that the interpreter itself defines."""

Wanted = dict[str, dict[str, set[str]]]
"""By library: the versions that are wanted of it, and the symbols of each."""


def main(packages: Path) -> None:
    if shutil.which("gcc") is None:
        sys.exit("gcc is needed to build stand-ins for CUDA's libraries (Debian: apt install gcc)")
    folder = packages / "torch/lib"
    ours = sorted(folder.glob("*.so*"))
    there = [*ours, *packages.glob("nvidia/**/*.so*")]
    wanted, loose, needed = _wanted(ours)
    defined = {symbol for library in there for symbol in _defined(library)}
    missing = sorted(name for name in needed - {path.name for path in there} if _is_cudas(name))
    for number, name in enumerate(missing):
        versions = dict(wanted.get(name, {}))
        if number == 0:  # an unversioned symbol is looked up in all libraries: any will do
            versions[UNVERSIONED] = {symbol for symbol in loose - defined if not symbol.startswith(PYTHONS)}
        _build(folder, name, versions)
    print(f"{len(missing)} libraries without contents: {', '.join(missing)}")


def _wanted(libraries: list[Path]) -> tuple[Wanted, set[str], set[str]]:
    """What the libraries want of others, what they want of any, and the names of those that they are linked to."""
    wanted: Wanted = defaultdict(lambda: defaultdict(set))
    loose: set[str] = set()
    needed: set[str] = set()
    for path in libraries:
        with path.open("rb") as file:
            elf = ELFFile(file)
            needed |= {tag.needed for tag in elf.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")}
            for symbol, library, version in _undefined(elf):
                if library is None:
                    loose.add(symbol)
                else:
                    wanted[library][version].add(symbol)
    return wanted, loose, needed


def _undefined(elf: ELFFile) -> Iterator[tuple[str, str | None, str]]:
    """Symbol, library and version of what an ELF file wants; without a version the library is not told."""
    versions = {}
    if needs := elf.get_section_by_name(".gnu.version_r"):
        for library, wanted in needs.iter_versions():
            versions |= {one["vna_other"]: (library.name, one.name) for one in wanted}
    numbers = elf.get_section_by_name(".gnu.version")
    for index, symbol in enumerate(elf.get_section_by_name(".dynsym").iter_symbols()):
        if symbol["st_shndx"] != "SHN_UNDEF" or symbol["st_info"]["bind"] != "STB_GLOBAL":
            continue
        number = numbers.get_symbol(index)["ndx"] if numbers else None
        library, version = versions.get(number, (None, UNVERSIONED))
        yield symbol.name, library, version


def _defined(path: Path) -> Iterator[str]:
    with path.open("rb") as file:
        for symbol in ELFFile(file).get_section_by_name(".dynsym").iter_symbols():
            if symbol["st_shndx"] != "SHN_UNDEF":
                yield symbol.name


def _is_cudas(name: str) -> bool:
    """`libcuda.so.1` is the driver's, which torch looks for itself."""
    return name.startswith(("libcu", "libnv", "libnccl")) and name != "libcuda.so.1"


def _build(folder: Path, name: str, versions: dict[str, set[str]]) -> None:
    source, script = folder / "stub.c", folder / "stub.map"
    symbols = sorted(set().union(*versions.values())) or ["stub_without_symbols"]
    source.write_text("".join(f"int {symbol}(void) {{ return 1; }}\n" for symbol in symbols))
    versioned = {version: names for version, names in versions.items() if version != UNVERSIONED}
    script.write_text(
        "".join(
            f"{version} {{ global: {' '.join(f'{n};' for n in sorted(names))} }};\n"
            for version, names in versioned.items()
        )
    )
    command = [
        "gcc",
        "-w",
        "-fno-builtin",
        "-shared",
        "-fPIC",
        f"-Wl,-soname,{name}",
        "-o",
        str(folder / name),
    ]
    command += [f"-Wl,--version-script={script}"] if versioned else []
    subprocess.run([*command, str(source)], check=True, timeout=COMPILE_SECONDS)
    source.unlink()
    script.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
