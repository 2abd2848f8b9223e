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
 * them itself, from the labels and the channel in the statement. An agent that keeps its values is not judged, because its hub may hold it
 * back, and so is each value of its own that stays, because it may wait for the stage of a rollout; one that the statement does not name can only lose them.
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
    const held = new Set(differingNames(composed, now));
    if (!isSameJson(keepNames(composed, old, held), now))
      throw refused(
        `${what} has other values for ${who} than the layers of ${formatChannel(agent.channel)} give it`,
      );
  }
};

const refused = (message: string): FleetError =>
  new FleetError('SIGNER_REFUSED', message, { hint: 'Look up who uses the socket of this signer' });

const valuesOf = ({ composed }: SiteValues, agent: string): ComposedValues | undefined =>
  composed && Object.hasOwn(composed, agent) ? composed[agent] : undefined;
