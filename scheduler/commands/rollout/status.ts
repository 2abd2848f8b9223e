import { FleetCommand } from '#cli/fleet-command';
import { formatTime } from '#bundles/time';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags, selectionFlags } from '../../settings/configuration-flags.ts';
import { openHub } from '../../hub/open-hub.ts';
import { describeRollout } from '../../hub/promote/rollout/describe-rollout.ts';
import { listRollouts } from '../../hub/promote/rollout/list-rollouts.ts';
import {
  type ListedValuesRollout,
  listValuesRollouts,
} from '../../hub/promote/values/list-values-rollouts.ts';
import { openLayout } from '#bundles/formats/layout/layout';
import { chosenChannels } from '../each-channel.ts';

/** 'values 4f0c2a9be1d7 in prod, plan of prod-rings, by ann: new gateway' */
const valuesTitle = ({ rollout, environment, policy, person, reason, state }: ListedValuesRollout): string =>
  `values ${rollout} in ${environment}, plan of ${policy}, by ${person ?? 'a rule'}${reason === null ? '' : `: ${reason}`}${state === 'taken-back' ? ' (taken back)' : ''}`;

const environmentsOf = (given: string | readonly string[] | undefined): readonly string[] | undefined =>
  typeof given === 'string' ? [given] : given;

export default class RolloutStatus extends FleetCommand {
  static override description =
    'Show each rollout, of releases and of values of sites: its stages, the agents that hold it back, and the next step with its time.\n\nJudged by the reports that the hub has. Channels whose release reached all agents at once are left out.';
  static override examples = ['<%= config.bin %> <%= command.id %> --environment prod'];
  static override flags = { ...hubFlags, ...selectionFlags };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(RolloutStatus);
    const configuration = await readConfiguration(flags, process.cwd());
    const now = this.readNow(flags.now);
    await using hub = await openHub(configuration);
    const layout = await openLayout(hub.layout);
    const rollouts = await listRollouts(hub, chosenChannels(layout, flags), now);
    for (const rollout of rollouts) {
      this.print(
        `${rollout.channel} release ${rollout.release}, plan of ${rollout.policy}`,
        describeRollout(rollout),
      );
    }
    const environments =
      flags.channel !== undefined && flags.environment === undefined ? [] : environmentsOf(flags.environment);
    const values = await listValuesRollouts(hub, environments, now);
    for (const one of values) this.print(valuesTitle(one), describeRollout(one));
    if (rollouts.length + values.length === 0)
      this.log('No release and no change of values is in a rollout.');
    return { at: formatTime(now), rollouts, values };
  }
}
