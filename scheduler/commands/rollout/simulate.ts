import { Flags } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { parseChannel } from '#bundles/names';
import type { Row } from '#cli/format-table';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { openHub } from '../../hub/open-hub.ts';
import { simulateValues } from '../../hub/promote/values/list-values-rollouts.ts';
import { simulateChannel } from '../../hub/promote/rollout/simulate-channel.ts';

export default class RolloutSimulate extends FleetCommand {
  static override description =
    'Show when each agent gets the release of a channel, or a change of values, if every agent complies as soon as its stage begins and every approval is given immediately.\n\nA run over the same facts gives the same result.';
  static override examples = ['<%= config.bin %> <%= command.id %> --channel prod/kiosk'];
  static override flags = {
    ...hubFlags,
    channel: Flags.string({
      description: 'The channel, environment/cluster type',
      exactlyOne: ['channel', 'values'],
    }),
    values: Flags.string({
      description: 'A rollout of values of sites: its first digits, as rollout status shows them',
    }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(RolloutSimulate);
    const configuration = await readConfiguration(flags, process.cwd());
    const now = this.readNow(flags.now);
    await using hub = await openHub(configuration);
    const { agents, ...simulation } =
      flags.values === undefined
        ? { channel: flags.channel, ...(await simulateChannel(hub, parseChannel(flags.channel ?? ''), now)) }
        : await simulateValues(hub, flags.values, now);
    this.print({
      rows: simulation.stages.flatMap(({ stage, at, agents: names, total }): readonly Row[] => [
        [at, stage, `${total} of ${agents} agents`],
        ...names.map((name) => `  ${name}`),
      ]),
    });
    this.log(`complete: ${simulation.completeAt ?? 'not before its deadline'}`);
    return simulation;
  }
}
