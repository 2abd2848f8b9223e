import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runOrFail } from '../run/run-command.ts';
import { buildVersion } from './cache-folder.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

/** The collections of this release are for ansible-core 2.14, which Debian 12 has. */
const RELEASE = 'ansible==7.7.0';
const VERSION = '7.7.0';

/** Those whose modules and filters need nothing that a plain host lacks. */
const COLLECTIONS = [
  'ansible.posix',
  'ansible.utils',
  'community.crypto',
  'community.dns',
  'community.general',
] as const;

/** Packs collections that a Python package carries unpacked: a collection's tarball is its folder. */
const PACK = `
import sys, tarfile, zipfile, io
wheel, target, names = sys.argv[1], sys.argv[2], sys.argv[3:]
archive = zipfile.ZipFile(wheel)
for name in names:
    prefix = 'ansible_collections/' + name.replace('.', '/') + '/'
    with tarfile.open(target + '/' + name + '.tar.gz', 'w:gz') as tar:
        for entry in archive.infolist():
            if entry.filename.startswith(prefix) and not entry.is_dir():
                info = tarfile.TarInfo(entry.filename[len(prefix):])
                info.size = entry.file_size
                tar.addfile(info, io.BytesIO(archive.read(entry)))
`;

const family = (machine: Machine): string => join(machine.cache, 'ansible-collections');
const folder = (machine: Machine): string => join(family(machine), VERSION);

/** Collections as their authors publish them. The path is a folder with '<namespace>.<name>.tar.gz' of each. */
export const ansibleCollections: Part = {
  title: 'Ansible collections',
  variable: 'FLEET_ANSIBLE_COLLECTIONS',
  source: `pip download ${RELEASE}, of which ${COLLECTIONS.length} collections are kept`,
  find: (machine) => (existsSync(folder(machine)) ? folder(machine) : undefined),
  install: async (machine) => {
    await mkdir(family(machine), { recursive: true });
    const options = { env: machine.env, ...(machine.signal && { signal: machine.signal }) };
    await orExplain(`Python cannot have ${RELEASE}`, () =>
      buildVersion(family(machine), async (temporary) => {
        const wheels = join(temporary, 'wheels');
        const download = ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', wheels, RELEASE];
        await runOrFail(['python3', ...download], options);
        const wheel = join(wheels, `ansible-${VERSION}-py3-none-any.whl`);
        await runOrFail(['python3', '-c', PACK, wheel, temporary, ...COLLECTIONS], options);
        await runOrFail(['rm', '-r', wheels], options);
        return VERSION;
      }),
    );
    return folder(machine);
  },
};
