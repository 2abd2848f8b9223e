import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { ComposedValues, SiteAgent, SiteValues } from '#bundles/formats/statements/predicates';
import { differingNames, keepNames } from '#bundles/formats/site-values/keep-names';
import { isSameJson } from '#bundles/json/is-same-json';
import { formatChannel } from '#bundles/names';
import type { Judging } from './judging.ts';

/** The site statement to be signed: its name in messages, and its agents. */
type Asked = {
  readonly judging: Pick<Judging, 'compose'>;
  readonly what: string;
  readonly agents: readonly SiteAgent[];
};

/**
 * Checks that the values from layers which differ from those of the statement before follow from the released layers: the signer composes
 * them itself, from the labels and the channel in the statement. Values that stay as they are in the statement before are not judged: the hub
 * may hold an agent back, or a value may wait for its stage of a rollout. An agent that the statement does not name may only lose its values.
 * @throws FleetError SIGNER_REFUSED; the codes of Judging.compose
 */
export const checkComposed = (
  before: SiteValues,
  after: SiteValues,
  { judging, what, agents }: Asked,
): void => {
  const named = new Map(agents.map((agent) => [agent.name, agent]));
  const names = new Set([before, after].flatMap(({ composed = {} }) => Object.keys(composed)));
  for (const name of [...names].toSorted(compareBytes)) {
    const [old, now] = [valuesOf(before, name), valuesOf(after, name)];
    if (isSameJson(old, now)) continue;
    const agent = named.get(name);
    const who = `${after.site}/${name}`;
    if (!agent) {
      if (now === undefined) continue;
      throw refused(`${what} has values from layers for ${who}, which it does not name`);
    }
    const { composed, held: reasons } = judging.compose(agent.channel, { ...agent, site: after.site });
    const [reason] = reasons;
    if (reason) throw refused(`${what} changes the values of ${who} from layers, although ${reason.message}`);
    // Each value that is not the composed one has to be that of the statement before.
    const kept = new Set(differingNames(composed, now));
    if (!isSameJson(keepNames(composed, old, kept), now))
      throw refused(
        `${what} has other values for ${who} than the layers of ${formatChannel(agent.channel)} give it`,
      );
  }
};

const refused = (message: string): FleetError =>
  new FleetError('SIGNER_REFUSED', message, { hint: 'Look up who uses the socket of this signer' });

const valuesOf = ({ composed }: SiteValues, agent: string): ComposedValues | undefined =>
  composed && Object.hasOwn(composed, agent) ? composed[agent] : undefined;
