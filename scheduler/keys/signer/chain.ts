import { durationMs } from '#bundles/duration';
import { FleetError } from '#bundles/errors';
import { isName } from '#bundles/names';
import type { Share } from '../../model/promotion.ts';

/** An environment that gets only releases of promoted candidates, according to the signer's own configuration. */
export type ChainLink = {
  readonly environment: string;
  readonly promotedFrom: string;
  /** How long a candidate must have been released in `promotedFrom`; 0: no time. */
  readonly soakMs: number;
  /** Requirements on signed reports before a promotion; undefined: reports are not judged. */
  readonly evidence?: Evidence;
};

/** How many agents of the environment before must comply by their own signed reports. */
export type Evidence = {
  readonly share: Share;
  /** How old an agent's newest report may be; undefined: any age. */
  readonly freshMs: number | undefined;
};

const LINK = /^([^=]+)=([^:]+)(?::([1-9][0-9]{0,4}[smhdw]))?$/;

/**
 * Parses words like 'prod=qa' and 'prod=qa:24h'. @throws FleetError USAGE for another form, an environment that is named
 * twice, and a cycle
 */
export const parseChain = (words: readonly string[]): readonly ChainLink[] => {
  const links = words.map((word) => {
    const [, environment, promotedFrom, soak] = LINK.exec(word) ?? [];
    if (isName(environment) && isName(promotedFrom))
      return { environment, promotedFrom, soakMs: soak === undefined ? 0 : durationMs(soak) };
    throw new FleetError('USAGE', `--chain ${JSON.stringify(word.slice(0, 80))} is not a link of a chain`, {
      hint: 'Write <environment>=<environment before it>, like prod=qa, or with a soak time, like prod=qa:24h',
    });
  });
  const before = new Map(links.map((link) => [link.environment, link.promotedFrom]));
  if (before.size < links.length)
    throw new FleetError('USAGE', '--chain names an environment twice', { hint: 'Give one link for each' });
  for (const { environment } of links) {
    let steps = 0;
    for (let at = before.get(environment); at !== undefined; at = before.get(at))
      if (at === environment || (steps += 1) > links.length)
        throw new FleetError('USAGE', `--chain leads from ${environment} back to it`, {
          hint: 'The first environment of a chain has no link',
        });
  }
  return links;
};

const EVIDENCE = /^([^=]+)=(?:([1-9][0-9]{0,6})|([1-9][0-9]?|100)%)(?::([1-9][0-9]{0,4}[smhdw]))?$/;

/**
 * Adds words like 'prod=95%', 'prod=3' and 'prod=95%:12h' to the links of a chain.
 * @throws FleetError USAGE for another form, an environment without a link, or one that is named twice
 */
export const withEvidence = (chain: readonly ChainLink[], words: readonly string[]): readonly ChainLink[] => {
  const found = words.map((word) => {
    const [, environment, count, percent, fresh] = EVIDENCE.exec(word) ?? [];
    if (!chain.some((link) => link.environment === environment))
      throw new FleetError(
        'USAGE',
        `--evidence ${JSON.stringify(word.slice(0, 80))} does not belong to a link of --chain`,
        {
          hint: 'Write <environment>=<share or number of agents>, like prod=95%, or with the greatest age of reports, like prod=95%:12h',
        },
      );
    const share: Share = count === undefined ? { percent: Number(percent) } : { count: Number(count) };
    return [environment, { share, freshMs: fresh === undefined ? undefined : durationMs(fresh) }] as const;
  });
  const of = new Map(found);
  if (of.size < found.length)
    throw new FleetError('USAGE', '--evidence names an environment twice', { hint: 'Give one for each' });
  return chain.map((link) => {
    const evidence = of.get(link.environment);
    return evidence ? { ...link, evidence } : link;
  });
};
