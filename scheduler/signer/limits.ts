import { FleetError } from '#bundles/errors';
import { LIMITED, type Limited } from './judge/judging.ts';

/** Signatures of each sort in an hour. */
export type Limits = Readonly<Record<Limited, number>>;

/**
 * What an honest hub needs at its worst hour, and not much more. Releases and bundles: a change to a base layer makes a new
 * one for each channel, some hundred in a large fleet, and a morning brings several such changes. Site statements and leases: a
 * new root has all of them signed again at once, of thousands of sites. Certificates: a rollout enrols some thousand agents a
 * day, and renewals are spread over months.
 */
export const DEFAULT_LIMITS: Limits = {
  bundle: 1_200,
  release: 1_200,
  site: 20_000,
  lease: 20_000,
  certificate: 2_000,
};

/** Of one channel or one site: one a minute, more than any person or loop would make. */
export const LINE_LIMIT = 60;

export const HOUR_MS = 3_600_000;

const MAX_LIMIT = 1_000_000;

/** 'release=300' over the defaults. @throws FleetError USAGE */
export const parseLimits = (words: readonly string[]): Limits => {
  const given = words.map((word) => {
    const [, sort, number] = /^([a-z]+)=(\d{1,7})$/.exec(word) ?? [];
    const limited = LIMITED.find((one) => one === sort);
    if (limited && Number(number) <= MAX_LIMIT) return [limited, Number(number)] as const;
    throw new FleetError('USAGE', `--limit ${JSON.stringify(word.slice(0, 80))} is no limit`, {
      hint: `Write it like release=300: at most so many in an hour; there are ${LIMITED.join(', ')}`,
    });
  });
  return { ...DEFAULT_LIMITS, ...Object.fromEntries(given) };
};
