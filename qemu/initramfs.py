#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Builds the guest's file system as cpio archives for the kernel to unpack.

  base     Debian's programs and kernel modules: changes with packages only, cached
  overlay  the checkout's built files and scripts: made anew for each run

The kernel unpacks concatenated archives one after the other. They are not compressed: under emulation unpacking
costs more than reading.
"""

import glob
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
LIST = os.path.join(HERE, "initramfs.list")
PATH = "/usr/bin:/usr/sbin:/bin:/sbin"

# Where the checkout's files go in the guest, and which of them do not go.
GUEST_TOP = "rds"
TREES = ["kernel", "selftests", "tools", "qemu", "userlib"]
NOT_COPIED = re.compile(r"\.(c|h|o|a|d|mod|cmd|S|md|[1-8]|pyc|map|in|cpio)$|^\.|^__pycache__$|^Makefile$|^Kbuild$|^man$")


class Rig(Exception):
    """A sentence for the user."""


class Cpio:
    """Writes the kernel's "newc" archive format."""

    def __init__(self, out):
        self.out = out
        self.inode = 0

    def add(self, name, mode, data=b"", rdev=(0, 0)):
        self.inode += 1
        fields = [self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, rdev[0], rdev[1], len(name.encode()) + 1, 0]
        head = b"070701" + b"".join(b"%08x" % f for f in fields) + name.encode() + b"\0"
        self.out.write(head + bytes(-len(head) % 4))
        self.out.write(data + bytes(-len(data) % 4))

    def add_tree(self, root):
        for folder, dirs, files in os.walk(root):
            dirs.sort()
            for name in sorted(dirs + files):
                self.add_path(os.path.join(folder, name), os.path.relpath(os.path.join(folder, name), root))

    def add_path(self, path, name):
        st = os.lstat(path)
        if stat.S_ISLNK(st.st_mode):
            self.add(name, st.st_mode, os.readlink(path).encode())
        elif stat.S_ISDIR(st.st_mode):
            self.add(name, st.st_mode)
        else:
            with open(path, "rb") as source:
                self.add(name, st.st_mode, source.read())

    def close(self):
        self.add("TRAILER!!!", 0)
        self.out.write(bytes(-self.out.tell() % 512))


def run(*cmd, **kw):
    return subprocess.run(cmd, check=True, text=True, stdout=subprocess.PIPE, **kw).stdout


def is_elf(path):
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF"


def shared_libraries(path, library_path=""):
    """Absolute paths of the libraries that an ELF file loads at its start."""
    env = dict(os.environ, LD_LIBRARY_PATH=library_path)
    text = subprocess.run(["ldd", path], text=True, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    missing = re.findall(r"^\s*(\S+) => not found", text, re.M)
    if missing:
        raise Rig(f"{path} needs {', '.join(missing)}, which is not on this machine")
    return re.findall(r"(?:=> |^\s*)(/\S+) \(0x", text, re.M)


class Stage:
    """A folder that becomes an archive. The guest's /bin, /sbin and /lib are links into /usr, as on Debian."""

    def __init__(self, root, present=()):
        self.root = root
        self.present = set(present)

    def dest(self, path):
        path = re.sub(r"^/(bin|sbin|usr/sbin)/", "/usr/bin/", path)
        return re.sub(r"^/(lib|lib64)/", r"/usr/\1/", path)

    def copy(self, source, dest=None, library_path=""):
        dest = dest or self.dest(source)
        if dest in self.present:
            return
        self.present.add(dest)
        target = self.root + dest
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if source.endswith(".ko"):  # debugging information is most of it, and of use on the host only
            subprocess.run(["strip", "--strip-debug", "-o", target, source], check=True)
            return
        shutil.copyfile(source, target)
        shutil.copymode(source, target)
        if is_elf(source):
            for lib in shared_libraries(source, library_path):
                if not lib.startswith(TOP + "/"):
                    self.copy(lib, library_path=library_path)

    def link(self, path, target):
        path = self.root + path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not os.path.lexists(path):
            os.symlink(target, path)

    def write(self, path, text, mode=0o644):
        path = self.root + path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, mode)


def release_of(kernel):
    releases = os.listdir(os.path.join(kernel, "lib/modules"))
    if len(releases) != 1:
        raise Rig(f"{kernel}/lib/modules must hold exactly one release")
    return releases[0]


def add_modules(stage, kernel, wanted):
    """Copies the wanted modules and all that they depend on, and lets depmod index them."""
    release = release_of(kernel)
    source = os.path.join(kernel, "lib/modules", release)
    target = os.path.join(stage.root, "usr/lib/modules", release)
    deps_file = os.path.join(source, "modules.dep")
    if not os.path.exists(deps_file):
        subprocess.run(["/sbin/depmod", "-b", kernel, release], check=True)
    deps = {}
    for line in open(deps_file):
        path, needs = line.split(":")
        deps[os.path.basename(path).split(".")[0].replace("-", "_")] = [path] + needs.split()
    builtin = {os.path.basename(p).split(".")[0].replace("-", "_") for p in open(os.path.join(source, "modules.builtin"))}
    for name in wanted:
        optional = name.endswith("?")
        name = name.rstrip("?").replace("-", "_")
        if name not in deps and name not in builtin and not optional:
            raise Rig(f"the kernel has no module {name}")
        for path in deps.get(name, []):
            os.makedirs(os.path.dirname(os.path.join(target, path)), exist_ok=True)
            shutil.copyfile(os.path.join(source, path), os.path.join(target, path))
    os.makedirs(target, exist_ok=True)  # all may be built in
    for index in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        if os.path.exists(os.path.join(source, index)):
            shutil.copyfile(os.path.join(source, index), os.path.join(target, index))
    subprocess.run(["/sbin/depmod", "-b", os.path.join(stage.root, "usr"), release], check=True)


def add_program(stage, name):
    found = shutil.which(name, path=PATH)
    if not found:
        raise Rig(f"{name} is not installed; run 'make setup' as root")
    stage.copy(os.path.realpath(found) if os.path.basename(os.path.realpath(found)) == name else found, f"/usr/bin/{name}")
    if os.path.basename(os.path.realpath(found)) == "kmod":
        stage.present.add(f"/usr/bin/{name}")


def add_python(stage, without):
    """Debian's interpreter, whatever other python3 stands first in the host's PATH."""
    interpreter = "/usr/bin/python3"
    library = run(interpreter, "-c", "import os; print(os.path.dirname(os.__file__))").strip()
    stage.copy(os.path.realpath(interpreter), interpreter)
    for folder, dirs, files in os.walk(library):
        dirs[:] = [d for d in dirs if d not in without and not d.startswith("config-")]
        for name in files:
            if name.endswith((".py", ".so")):
                stage.copy(os.path.join(folder, name))


def add_busybox(stage):
    busybox = shutil.which("busybox", path=PATH)
    if not busybox:
        raise Rig("busybox is not installed; run 'make setup' as root")
    stage.copy(busybox, "/usr/bin/busybox")
    for applet in run(busybox, "--list").split():
        stage.link(f"/usr/bin/{applet}", "busybox")


def build_base(stage, kernel):
    for name in ("usr/bin", "usr/lib", "usr/lib64", "proc", "sys", "dev", "tmp", "run", "root", "etc", "var"):
        os.makedirs(os.path.join(stage.root, name), exist_ok=True)
    for name, target in (("bin", "usr/bin"), ("sbin", "usr/bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64"),
                         ("usr/sbin", "bin"), ("var/run", "../run"), ("var/tmp", "../tmp")):
        stage.link("/" + name, target)
    stage.write("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/tmp:/bin/bash\n")
    stage.write("/etc/group", "root:x:0:\nnogroup:x:65534:\n")
    stage.write("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n")
    # The first socket(AF_RDS) of a test must not load the stock module behind the rig's back.
    stage.write("/etc/modprobe.d/rds.conf", "blacklist rds\n")
    modules = []
    for line in open(LIST):
        word, *rest = line.split("#")[0].split() or [None]
        if word == "program":
            for name in rest:
                add_program(stage, name)
        elif word == "python":
            add_python(stage, {name.lstrip("-") for name in rest})
        elif word == "file":
            for name in (path for pattern in rest for path in glob.glob(pattern) or [pattern]):
                stage.copy(name)
        elif word == "module":
            modules += rest
        elif word:
            raise Rig(f"{LIST}: what is {word!r}?")
    add_busybox(stage)
    add_modules(stage, kernel, modules)


def base_key(kernel):
    """Changes with the list, this builder, the kernel and any installed package."""
    digest = hashlib.sha256()
    for path in (LIST, os.path.abspath(__file__)):
        digest.update(open(path, "rb").read())
    digest.update(os.path.realpath(kernel).encode())
    digest.update(run("dpkg-query", "-W").encode())
    return digest.hexdigest()[:16]


def write_archive(root, path):
    with open(path + ".new", "wb") as out:
        archive = Cpio(out)
        archive.add_tree(root)
        archive.close()
    os.rename(path + ".new", path)


def base(kernel, cache):
    """Returns the path of the base archive for a kernel, built if need be; its list of files stands beside it."""
    os.makedirs(cache, exist_ok=True)
    prefix = os.path.join(cache, f"base-{os.path.basename(os.path.realpath(kernel))}-")
    path = f"{prefix}{base_key(kernel)}.cpio"
    if os.path.exists(path):
        return path
    print("rig: building the base file system of the guest", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=cache) as root:
        stage = Stage(root)
        build_base(stage, kernel)
        with open(path + ".files", "w") as files:
            files.writelines(f"{name}\n" for name in sorted(stage.present))
        write_archive(root, path)
    for old in glob.glob(f"{glob.escape(prefix)}*"):
        if not old.startswith(path):
            os.unlink(old)
    return path


def checkout_files():
    """Yields (path, name below the checkout) of what the guest gets."""
    for tree in TREES:
        for folder, dirs, files in os.walk(os.path.join(TOP, tree)):
            dirs[:] = sorted(d for d in dirs if not NOT_COPIED.search(d))
            for name in sorted(files):
                path = os.path.join(folder, name)
                if not NOT_COPIED.search(name) and os.path.exists(path):
                    yield path, os.path.relpath(path, TOP)


def library_folders():
    return sorted({os.path.dirname(name) for _, name in checkout_files() if os.path.basename(name).startswith("librds.so")})


def overlay(base_archive, path, extra):
    """Archives the run's own files (guest path -> host path) and, unless one of those stands in its place, each of the
    checkout's, with libraries that the base lacks."""
    present = open(base_archive + ".files").read().split("\n")
    folders = library_folders()
    library_path = ":".join(os.path.join(TOP, folder) for folder in folders)
    with tempfile.TemporaryDirectory() as root:
        stage = Stage(root, present)
        for name, source in extra.items():
            stage.copy(source, f"/{GUEST_TOP}/{name}")
        for source, name in checkout_files():
            try:
                stage.copy(source, f"/{GUEST_TOP}/{name}", library_path)
            except FileNotFoundError:
                pass  # a build going on beside this run has just replaced or removed it
        stage.copy(os.path.join(HERE, "init"), "/init")
        os.chmod(root + "/init", 0o755)
        stage.write("/etc/ld-rds.path", ":".join(f"/{GUEST_TOP}/{folder}" for folder in folders) + "\n")
        write_archive(root, path)
