"""FP64's templates in the simulator: copies of them as an architecture wants them, whole or broken, and programs made of their parts."""
import os
import re
import shutil
import subprocess

from conftest import ROOT, SIM


def replace(path, changes):
    text = path.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    path.write_text(text)


class Build:
    """Objects of parts. Of a family of templates: archs {name: (what differs from the sample, ...)}, parts {skeleton: PART of `source`}."""

    def __init__(self, folder, archs, parts, source, *mains):
        self.folder, self.archs, self.parts, self.source, self.made, self.objects = folder, archs, parts, source, 0, {}
        self.mains = [folder / f"{main.removesuffix('.cpp').removesuffix('.c')}.o" for main in mains]
        for main, out in zip(mains, self.mains):
            out.parent.mkdir(parents=True, exist_ok=True)
            compiler = SIM if main.endswith(".cpp") else ["gcc", "-std=c11", "-O2"]
            subprocess.run([*compiler, "-c", str(ROOT / "tests" / main), "-o", str(out)], check=True)

    def copy(self):
        self.made += 1
        folder = self.folder / f"copy{self.made}"
        shutil.copytree(ROOT / "templates", folder / "templates")
        os.symlink(ROOT / "runtime", folder / "runtime")
        return folder / "templates"

    def adapted(self, arch, sample, broken=None):
        """A copy whose sample is as the architecture wants it; broken: file, text, replacement."""
        templates = self.copy()
        replace(templates / sample, self.archs[arch][0])
        if broken:
            path = templates / broken[0]
            changed, count = re.subn(broken[1], broken[2], path.read_text(), count=1)
            assert count == 1, broken
            path.write_text(changed)
        return templates

    def part(self, name, templates):
        out = templates / f"{name}.o"
        subprocess.run([*SIM, "-Wno-unknown-pragmas", f"-DPART={self.parts[name]}", f'-DTEMPLATE="{templates}/skeletons/{name}.cu"', f"-I{ROOT}/tests/kernels",
                        "-c", str(ROOT / "tests/kernels" / self.source), "-o", str(out)], check=True)
        return out

    def usual(self, arch, name):
        """Of templates that are not broken."""
        if (arch, name) not in self.objects:
            self.objects[arch, name] = self.part(name, self.templates(arch))
        return self.objects[arch, name]

    def program(self, templates, objects):
        out, sim = templates / "program", sorted((ROOT / "out/obj/runtime/sim").glob("*.o"))
        subprocess.run(["g++", "-o", str(out), *map(str, [*self.mains, *objects, *sim]), "-lpthread", "-lm"], check=True)
        return out
