import { type ErrorCode, formatError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { type Channel, formatChannel, parseChannel, parseName } from '#bundles/names';
import { errorJson } from '#cli/fleet-command';
import { choosePointers } from '#bundles/transport/publish/choose-pointers';
import { abortIfAsked } from '../hub/refused.ts';
import { toProblem } from '../model/problems.ts';

type Selection = {
  readonly channel?: readonly string[] | undefined;
  readonly environment?: readonly string[] | undefined;
};

/** The channels with a release that selectionFlags choose. @throws FleetError USAGE, and for one that is not there */
export const chosenChannels = (layout: Layout, { channel, environment }: Selection): readonly Channel[] =>
  choosePointers(layout, {
    channels: channel?.map(parseChannel),
    environments: environment?.map((name) => parseName(name, 'environment')),
  })
    .filter(({ tag }) => tag === 'release')
    .map(({ repository }) => parseChannel(repository));

type EachChannel = {
  /** 'renewing the lease of', for messages. */
  readonly doing: string;
  /** Codes of errors that would also affect the next channel and therefore end the command. */
  readonly fatal: readonly ErrorCode[];
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
};

/**
 * Runs `work` for every channel. An error of one channel is printed and sets the exit code, and the others continue.
 * @returns one entry of the JSON output for each channel
 * @throws FleetError ABORTED, INTERNAL, and the codes in `fatal`
 */
export const eachChannel = async (
  channels: readonly Channel[],
  { doing, fatal, signal, say }: EachChannel,
  work: (channel: Channel) => Promise<object>,
): Promise<readonly object[]> => {
  const outcomes: object[] = [];
  for (const channel of channels) {
    abortIfAsked(signal);
    const name = formatChannel(channel);
    try {
      outcomes.push({ channel: name, ...(await work(channel)) });
    } catch (error) {
      const known = toProblem(error, `${doing} ${name}`);
      if (fatal.includes(known.code)) throw known;
      say(`${name}: ${formatError(known)}`);
      process.exitCode = known.exitCode;
      outcomes.push({ channel: name, outcome: 'failed', ...errorJson(known) });
    }
  }
  return outcomes;
};
