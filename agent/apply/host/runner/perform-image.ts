import { mkdir } from 'node:fs/promises';
import { COMMAND_ENV, type CommandResult } from '../host-options.ts';
import { storageOf } from '../images/podman-storage.ts';
import type { StepEnd, StepWork } from './step-work.ts';
import type { ImageRequest } from '../step-request.ts';

/** Loads an image into Podman's storage, or removes it. Repeating either changes nothing. */
export const performImage = (request: ImageRequest, work: StepWork): Promise<StepEnd> =>
  request.verb === 'load' ? load(request, work) : remove(request, work);

const load = async ({ tag, timeoutSeconds }: ImageRequest, work: StepWork): Promise<StepEnd> => {
  const podman = podmanOf(work, timeoutSeconds);
  const pulled = await podman(['pull', '--quiet', `dir:${work.content}`]);
  if (pulled.code !== 0) return { ...pulled, message: `podman pull ended with ${lastLine(pulled)}` };
  // Podman syncs no layer. The tag tells the agent that the image is complete, so a power cut must not leave it with empty files.
  const storage = await storageOf('/');
  const synced = await work.run(['sync', '--file-system', storage], {
    timeoutMs: timeoutSeconds * 1000,
    signal: work.signal,
    cwd: '/',
    env: COMMAND_ENV,
  });
  if (synced.code !== 0) return { ...synced, message: `sync of ${storage} ended with ${lastLine(synced)}` };
  // Podman names what it pulls from a directory after that directory.
  const tagged = await podman(['tag', pulled.stdout.trim(), tag]);
  return { ...tagged, message: tagged.code === 0 ? undefined : `podman tag ended with ${lastLine(tagged)}` };
};

const remove = async ({ tag, timeoutSeconds }: ImageRequest, work: StepWork): Promise<StepEnd> => {
  const removed = await podmanOf(work, timeoutSeconds)(['rmi', tag]);
  if (/image not known|no such image/i.test(removed.stderr))
    return { ...removed, code: 0, message: undefined };
  if (/in use|used by/i.test(removed.stderr)) return { ...removed, message: 'a container uses it' };
  return {
    ...removed,
    message: removed.code === 0 ? undefined : `podman rmi ended with ${lastLine(removed)}`,
  };
};

/** Podman unpacks images in the folder of the step: what a kill leaves in its own, /var/tmp, stays there. */
const podmanOf =
  ({ run, signal, scratch }: StepWork, timeoutSeconds: number) =>
  async (words: readonly string[]): Promise<CommandResult> => {
    await mkdir(scratch, { recursive: true, mode: 0o700 });
    const env = { ...COMMAND_ENV, TMPDIR: scratch };
    return run(['podman', ...words], { timeoutMs: timeoutSeconds * 1000, signal, cwd: '/', env });
  };

const lastLine = ({ code, stderr }: CommandResult): string =>
  `${code}: ${stderr.trim().split('\n').at(-1) ?? ''}`;
