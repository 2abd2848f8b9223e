import { chmod, cp, mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { makeBusyboxRoot } from '../kubernetes/busybox-image.ts';
import type { Podman } from './podman.ts';
import { runOrFail } from '../run/run-command.ts';
import { temporaryDirectory } from '../run/temporary-directory.ts';

/**
 * What a node:24-slim of a registry would be, made without one: the Node that runs this, the libraries it is linked with,
 * and busybox for a shell and `env`. Imported into podman under `name`.
 * @param libraries a Debian root to take the libraries from: parts.nodeBase
 */
export const importAgentBase = async (
  { podman }: Podman,
  name: string,
  { busybox, libraries }: { readonly busybox: string; readonly libraries: string },
): Promise<void> => {
  await using folder = await temporaryDirectory('agent-base');
  const root = join(folder.path, 'root');
  await makeBusyboxRoot(busybox, root);
  for (const place of ['usr/bin', 'usr/local/bin', 'opt'])
    await mkdir(join(root, place), { recursive: true });
  await cp(join(root, 'bin/busybox'), join(root, 'usr/bin/env'));
  await cp(process.execPath, join(root, 'usr/local/bin/node'));
  await chmod(join(root, 'usr/local/bin/node'), 0o755);
  for (const path of await librariesOf(process.execPath)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    // Where it lies on this machine may be a link on that Debian, or the other way round; its content is the library.
    await cp(await findLibrary(libraries, path), join(root, path), { dereference: true });
  }
  const archive = join(folder.path, 'base.tar');
  await writeFile(join(root, 'etc/nsswitch.conf'), 'hosts: files dns\n');
  await runOrFail(['tar', '--create', `--file=${archive}`, `--directory=${root}`, '.']);
  const { code, stderr } = await podman(['import', '--quiet', archive, name]);
  if (code !== 0) throw new Error(`podman cannot import ${name}: ${stderr}`);
};

/** '/lib/x86_64-linux-gnu/libc.so.6' ..., with the loader itself. */
const librariesOf = async (program: string): Promise<readonly string[]> => {
  const { stdout } = await runOrFail(['ldd', program]);
  return [...stdout.matchAll(/(?:=> )?(\/\S+) \(0x/g)].flatMap(([, path]) => path ?? []);
};

const findLibrary = async (debian: string, path: string): Promise<string> => {
  const { stdout } = await runOrFail(['find', join(debian, 'usr/lib'), '-name', basename(path)]);
  const [found] = stdout.split('\n');
  if (!found) throw new Error(`${debian} has no ${basename(path)}`);
  return found;
};
