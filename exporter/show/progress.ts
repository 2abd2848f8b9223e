import { formatBytes } from './format-bytes.ts';

export type Progress = AsyncDisposable & { readonly advance: (bytes: number) => void };

/** A bar on standard error while somebody looks on; nothing anywhere else. */
export const startProgress = async (total: number, shown: boolean): Promise<Progress> => {
  if (!shown) return { advance: () => {}, [Symbol.asyncDispose]: async () => {} };
  const { default: cliProgress } = await import('cli-progress');
  const bar = new cliProgress.SingleBar({
    stream: process.stderr,
    hideCursor: true,
    clearOnComplete: true,
    format: '{bar} {percentage}%  {done} of {all}  {eta_formatted} left',
  });
  let done = 0;
  const texts = () => ({ done: formatBytes(done), all: formatBytes(total) });
  bar.start(total, 0, texts());
  return {
    advance: (bytes) => {
      done += bytes;
      bar.update(Math.min(done, total), texts());
    },
    [Symbol.asyncDispose]: async () => bar.stop(),
  };
};
