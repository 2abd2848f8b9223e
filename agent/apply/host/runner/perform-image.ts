import { COMMAND_ENV, type CommandResult } from '../host-options.ts';
import type { StepEnd, StepWork } from './perform-request.ts';
import type { ImageRequest } from '../step-request.ts';

/** Loads an image into Podman's storage, or removes it. Repeating either changes nothing. */
export const performImage = (request: ImageRequest, work: StepWork): Promise<StepEnd> =>
  request.verb === 'load' ? load(request, work) : remove(request, work);

const load = async ({ tag, timeoutSeconds }: ImageRequest, work: StepWork): Promise<StepEnd> => {
  const podman = podmanOf(work, timeoutSeconds);
  const pulled = await podman(['pull', '--quiet', `oci:${work.content}:${tag}`]);
  if (pulled.code !== 0) return { ...pulled, message: `podman pull ended with ${lastLine(pulled)}` };
  // Some versions name what they pull from a layout after its directory.
  const tagged = await podman(['tag', pulled.stdout.trim(), tag]);
  return { ...tagged, message: tagged.code === 0 ? undefined : `podman tag ended with ${lastLine(tagged)}` };
};

/** An image that a container uses stays, and the code says so. */
const remove = async ({ tag, timeoutSeconds }: ImageRequest, work: StepWork): Promise<StepEnd> => {
  const removed = await podmanOf(work, timeoutSeconds)(['rmi', tag]);
  if (/image not known|no such image/i.test(removed.stderr))
    return { ...removed, code: 0, message: undefined };
  const isDone = removed.code === 0 || /in use|used by/i.test(removed.stderr);
  return { ...removed, message: isDone ? undefined : `podman rmi ended with ${lastLine(removed)}` };
};

const podmanOf =
  ({ run, signal }: StepWork, timeoutSeconds: number) =>
  (words: readonly string[]): Promise<CommandResult> =>
    run(['podman', ...words], { timeoutMs: timeoutSeconds * 1000, signal, cwd: '/', env: COMMAND_ENV });

const lastLine = ({ code, stderr }: CommandResult): string =>
  `${code}: ${stderr.trim().split('\n').at(-1) ?? ''}`;
