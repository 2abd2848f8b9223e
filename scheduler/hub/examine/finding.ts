import { type FleetError, formatSentences, type Place, toFleetError } from '#bundles/errors';
import { type Configuration, placeOfSetting } from '../../settings/configuration.ts';

/** The result of one try of a part of the configuration. */
export type Finding = {
  readonly name: string;
  readonly verdict: 'good' | 'warning' | 'bad';
  readonly message: string;
  /** The setting that it is about, or the mistake in another file; absent for flags, variables and defaults. */
  readonly at?: Place | undefined;
};

/** A try: the sentence of what was found, with a verdict where that is not 'good'. */
export type Tried = string | Pick<Finding, 'verdict' | 'message'>;

export type Part = {
  readonly name: string;
  /** The setting in the file. */
  readonly path: readonly (string | number)[];
  /** Throws FleetError for a mistake in the configuration, and for a program that does not answer. */
  readonly attempt: (signal: AbortSignal) => Promise<Tried>;
};

/** The longest that one part is tried. */
const PART_MS = 60_000;

/** Tries one part. An error becomes a finding at the setting, or at the place that the error names. Throws only when `stop` aborts. */
export const tryPart = async (
  { file }: Pick<Configuration, 'file'>,
  { name, path, attempt }: Part,
  stop: AbortSignal,
): Promise<Finding> => {
  const limit = AbortSignal.timeout(PART_MS);
  const at = file === undefined ? undefined : placeIn(file, path);
  try {
    const tried = await attempt(AbortSignal.any([stop, limit]));
    const { verdict, message } =
      typeof tried === 'string' ? { verdict: 'good' as const, message: tried } : tried;
    return { name, verdict, message, at: verdict === 'bad' ? at : undefined };
  } catch (error) {
    stop.throwIfAborted();
    if (limit.aborted)
      return { name, verdict: 'bad', message: `gave no answer within ${PART_MS / 1000} s`, at };
    return findingOf(name, toFleetError(error), at);
  }
};

/** @param at where the error names no place with a line */
export const findingOf = (name: string, error: FleetError, at?: Place): Finding => ({
  name,
  verdict: 'bad',
  message: formatSentences(error),
  at: error.at?.line === undefined ? (at ?? error.at) : error.at,
});

const placeIn = (file: string, path: Part['path']): Place | undefined => {
  const place = placeOfSetting(file, path);
  return place.line === undefined ? undefined : place;
};
