import { defined } from '#bundles/defined';
import { ask, canAsk } from '#cli/ask';
import { formatBytes } from '#cli/format-bytes';
import { formatNumbers } from './show/format-set.ts';
import type { SetRequest } from '../write/write-set.ts';

export type VolumeDialog = {
  readonly say: (line: string) => void;
  /** Removes the progress bar before a line or question is printed. */
  readonly endProgress: () => void;
  readonly isReadBack: boolean;
  /** True with --json: do not ask. */
  readonly isScript: boolean;
  readonly signal: AbortSignal;
};

/** Reports each finished volume and, at a terminal, asks for the next one. */
export const askForVolumes = (
  order: SetRequest,
  { say, endProgress, isReadBack, isScript, signal }: VolumeDialog,
): SetRequest => ({
  ...order,
  onVolume: ({ stick, sticks, at, numbers }) => {
    endProgress();
    const end = isReadBack ? 'safe to unplug' : 'not read back';
    if (sticks > 1) say(`stick ${stick} of ${sticks}, ${formatNumbers(numbers)}: done at ${at}, ${end}`);
  },
  ...defined({ askForVolume: isScript || !canAsk() ? undefined : askForVolume(signal) }),
});

const askForVolume =
  (signal: AbortSignal): SetRequest['askForVolume'] =>
  async ({ stick, sticks, at, bytes, because }) => {
    const why = because === undefined ? '' : `Not this one: ${because}. `;
    const room = `with ${formatBytes(bytes)} free`;
    await ask(`${why}Put stick ${stick} of ${sticks}, ${room}, in at ${at} and press Enter `, {
      flag: `--stick ${stick}`,
      signal,
    });
  };
