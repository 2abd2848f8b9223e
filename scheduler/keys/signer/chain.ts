import { durationMs } from '#bundles/duration';
import { FleetError } from '#bundles/errors';
import { isName } from '#bundles/names';

/** An environment that gets releases only of what was promoted to it, as the signer's own configuration says. */
export type ChainLink = {
  readonly environment: string;
  readonly promotedFrom: string;
  /** How long a candidate must have been released in `promotedFrom`; 0: no time. */
  readonly soakMs: number;
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
    throw new FleetError('USAGE', `--chain ${JSON.stringify(word.slice(0, 80))} is no link of a chain`, {
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
