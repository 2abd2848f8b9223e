import type { SingleBar } from 'cli-progress';
import { plainText } from '#bundles/errors';
import { formatBytes } from './format-bytes.ts';
import type { Phase, PhaseState } from './progress-meter.ts';
import type { ProgressView } from './progress-view.ts';

/** Milliseconds before a bar is shown: for shorter work it would flicker. */
const DELAY_MS = 250;

/** Shows progress as one line, redrawn in place and removed when its phase ends. */
export const progressBar = (stream: NodeJS.WritableStream): ProgressView => {
  let drawn: { readonly phase: Phase; readonly bar: SingleBar } | undefined;
  let loading: ReturnType<typeof load> | undefined;
  const draw = (make: typeof SingleBar, state: PhaseState): void => {
    const { phase, done } = state;
    // Without a total it only counts, and cli-progress wants a number to divide by.
    const total = phase.total || Math.max(1, done);
    if (drawn?.phase !== phase) {
      drawn?.bar.stop();
      drawn = { phase, bar: new make({ ...BAR_OPTIONS, stream, format: formatOf(phase) }) };
      drawn.bar.start(total, done, textsOf(state));
    } else drawn.bar.update(done, textsOf(state));
  };
  let latest: PhaseState | undefined;
  const drawLatest = async (library: ReturnType<typeof load>): Promise<void> => {
    const { SingleBar: make } = (await library).default;
    if (latest) draw(make, latest);
  };
  return {
    every: DELAY_MS,
    show: (state) => {
      latest = state;
      loading ??= load();
      void drawLatest(loading);
    },
    end: () => {
      latest = undefined;
      drawn?.bar.stop();
      drawn = undefined;
    },
  };
};

const load = () => import('cli-progress');

const BAR_OPTIONS = {
  hideCursor: true,
  clearOnComplete: true,
  barsize: 24,
  barCompleteChar: '=',
  barIncompleteChar: ' ',
  // Asked for by name, it is also drawn where there is no terminal.
  noTTYOutput: true,
  notTTYSchedule: 1000,
} as const;

const formatOf = ({ total, unit }: Phase): string =>
  [
    '{phase}',
    total > 0 ? ' [{bar}] {percentage}%  {amount} of {all}' : '',
    unit === 'blobs' ? '' : '  {rate}',
    '  {note}',
  ].join('');

const textsOf = ({ phase, done, perSecond, secondsLeft, waiting }: PhaseState) => {
  const amount = (count: number): string => (phase.unit === 'blobs' ? `${count} blobs` : formatBytes(count));
  return {
    phase: plainText(phase.name),
    amount: phase.unit === 'blobs' ? String(done) : amount(done),
    all: amount(phase.total),
    rate: perSecond === undefined ? '' : `${formatBytes(perSecond)}/s`,
    note: plainText(waiting ?? (secondsLeft === undefined ? '' : `${formatClock(secondsLeft)} left`)),
  };
};

/** '0:05', '12:00', '1:02:03'. */
const formatClock = (seconds: number): string => {
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const tail = String(rest).padStart(2, '0');
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${tail}` : `${minutes}:${tail}`;
};
