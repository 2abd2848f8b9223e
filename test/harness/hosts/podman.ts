import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LIBRARIES } from '../parts/podman.ts';
import { type Outcome, type RunOptions, runCommand } from '../run/run-command.ts';
import { temporaryDirectory } from '../run/temporary-directory.ts';

/**
 * A podman with images and settings of its own, gone when it is disposed of. It builds, loads, saves and pushes; to run
 * containers is for a node (startNode), as the podman that conmon calls back would lack its library.
 */
export type Podman = AsyncDisposable & {
  /**
   * `podman(['build', '--tag=localhost/x:1', folder])`; the outcome, whatever the exit code is. A build's RUN has no
   * network, and plain HTTP is spoken with a registry on the loopback only.
   */
  readonly podman: (args: readonly string[], options?: Omit<RunOptions, 'env'>) => Promise<Outcome>;
  /** A folder for PATH with a program `podman` that is this one, for what starts podman itself. */
  readonly bin: string;
};

/** @param program parts.podman. Needs root. */
export const openPodman = async (program: string): Promise<Podman> => {
  await using cleanup = new AsyncDisposableStack();
  const folder = cleanup.use(await temporaryDirectory('podman'));
  const unpacked = join(dirname(program), '../..');
  const settings = join(folder.path, '.config/containers');
  await mkdir(settings, { recursive: true });
  const write = async (name: string, text: string): Promise<string> => {
    await writeFile(join(settings, name), text);
    return join(settings, name);
  };
  await write('policy.json', JSON.stringify({ default: [{ type: 'insecureAcceptAnything' }] }));
  const env = {
    PATH: `${join(unpacked, 'usr/bin')}:${join(unpacked, 'usr/sbin')}:/usr/sbin:/usr/bin:/sbin:/bin`,
    LD_LIBRARY_PATH: join(unpacked, LIBRARIES),
    // Where it looks for its policy first.
    HOME: folder.path,
    TMPDIR: folder.path,
    CONTAINERS_CONF: await write('containers.conf', formatSettings(unpacked, folder.path)),
    CONTAINERS_STORAGE_CONF: await write('storage.conf', formatStorage(folder.path)),
    CONTAINERS_REGISTRIES_CONF: await write('registries.conf', REGISTRIES),
  };
  const podman: Podman['podman'] = (args, options) => runCommand([program, ...args], { ...options, env });
  const bin = join(folder.path, 'bin');
  await mkdir(bin);
  const words = Object.entries(env).map(([name, value]) => `${name}='${value}'`);
  await writeFile(join(bin, 'podman'), `#!/bin/sh\nexec env ${words.join(' ')} ${program} "$@"\n`, {
    mode: 0o755,
  });
  const moved = cleanup.move();
  return { podman, bin, [Symbol.asyncDispose]: () => moved.disposeAsync() };
};

/** Limits as they are, because raising one takes a capability that root of a container lacks; no systemd, no network. */
const formatSettings = (unpacked: string, folder: string): string => `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
netns = "none"
seccomp_profile = "unconfined"
apparmor_profile = "unconfined"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
static_dir = ${JSON.stringify(join(folder, 'static'))}
tmp_dir = ${JSON.stringify(join(folder, 'tmp'))}
volume_path = ${JSON.stringify(join(folder, 'volumes'))}
conmon_path = [${JSON.stringify(join(unpacked, 'usr/bin/conmon'))}]
[engine.runtimes]
runc = [${JSON.stringify(join(unpacked, 'usr/sbin/runc'))}]
`;

/** Plain copies: nothing is mounted that a killed run could leave behind. */
const formatStorage = (folder: string): string => `[storage]
driver = "vfs"
graphroot = ${JSON.stringify(join(folder, 'storage'))}
runroot = ${JSON.stringify(join(folder, 'run'))}
`;

const REGISTRIES = `unqualified-search-registries = []
[[registry]]
location = "127.0.0.1"
insecure = true
`;
