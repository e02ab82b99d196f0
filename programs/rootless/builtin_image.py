# SPDX-License-Identifier: Apache-2.0
"""Has yett-policy compile the built-in policy, and writes the image as C: builtin_image.py YETT-POLICY OUTPUT."""
import subprocess
import sys
import tempfile

program, target = sys.argv[1:]
with tempfile.TemporaryFile() as file:
    # Descriptor 0 is the image; no argument, and so no file, stands for the built-in policy.
    status = subprocess.run([program], stdin=file, check=False).returncode
    file.seek(0)
    image = file.read()
# struct image of helper/policy/image.h begins with 0, or else with the code of an error
if status != 0 or not image or int.from_bytes(image[:4], sys.byteorder) != 0:
    said = b" ".join(image[:4096].replace(b"\0", b" ").split()).decode(errors="replace")
    sys.exit(f"the built-in policy cannot be compiled on this machine: status {status}: {said}")
with open(target, "w", encoding="ascii") as file:
    file.write("#include <stddef.h>\nextern const unsigned char builtin_image[];\nextern const size_t builtin_image_size;\n")
    file.write("_Alignas(8) const unsigned char builtin_image[] = {\n")
    for at in range(0, len(image), 32):
        file.write("\t" + ",".join(str(byte) for byte in image[at:at + 32]) + ",\n")
    file.write("};\nconst size_t builtin_image_size = sizeof builtin_image;\n")
