import { FleetError } from '#bundles/errors';
import { LIMITED, type Limited } from './judge/judging.ts';

/** Signatures per hour, by kind. */
export type Limits = Readonly<Record<Limited, number>>;

/**
 * Slightly more than an honest hub needs in its busiest hour. Releases and bundles: a change of a base layer makes a new one for
 * each channel, about a hundred in a large fleet, and there may be several such changes in a morning. Site statements and leases:
 * after a new root all of them are signed again, for thousands of sites. Certificates: a rollout enrols about a thousand agents
 * a day, and renewals are spread over months.
 */
export const DEFAULT_LIMITS: Limits = {
  bundle: 1_200,
  release: 1_200,
  site: 20_000,
  lease: 20_000,
  certificate: 2_000,
};

/** Limit per hour for one channel or site: one a minute, more than any person or loop needs. */
export const LINE_LIMIT = 60;

export const HOUR_MS = 3_600_000;

const MAX_LIMIT = 1_000_000;

/** Parses words like 'release=300', which override the defaults. @throws FleetError USAGE */
export const parseLimits = (words: readonly string[]): Limits => {
  const given = words.map((word) => {
    const [, sort, number] = /^([a-z]+)=(\d{1,7})$/.exec(word) ?? [];
    const limited = LIMITED.find((one) => one === sort);
    if (limited && Number(number) <= MAX_LIMIT) return [limited, Number(number)] as const;
    throw new FleetError('USAGE', `--limit ${JSON.stringify(word.slice(0, 80))} is not a limit`, {
      hint: `Write it like release=300: at most so many in an hour; there are ${LIMITED.join(', ')}`,
    });
  });
  return { ...DEFAULT_LIMITS, ...Object.fromEntries(given) };
};
