import { Args, Flags } from '@oclif/core';
import { formatCount } from '#bundles/format-count';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../../hub/open-hub.ts';
import { approveValues } from '../../../hub/promote/values/approve-values.ts';
import { shortId } from '../../../hub/promote/values/propose-values.ts';
import { settleSites } from '../../../hub/sites/layers/settle-sites.ts';
import { KEY_FORMS, passwordFlag, passwordsOf } from '../../../keys/places/key-flags.ts';
import { openGivenKey } from '../../../keys/places/open-given-key.ts';
import { readConfiguration } from '../../../settings/configuration.ts';
import { hubFlags } from '../../../settings/configuration-flags.ts';
import { approveValuesStage } from '../../../hub/promote/values/approve-values-stage.ts';
import { rolloutLine } from '../change-many.ts';
import { appendToLog } from '../../append-to-log.ts';
import { personFlags, personAndReason, personOf } from '../../person-flags.ts';

export default class SitesValuesApprove extends FleetCommand {
  static override description =
    'Approve a change of values that waits for review, with your own key. The last required approval makes the change.\n\nThe change is judged again at that time, by the releases and values that are then current. The approval is in the audit log either way. Given the digits of a rollout of values, it approves the stage that comes next.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> 4f0c2a9be1d7 --key bob.key --person bob --reason "checked at the gateway"',
  ];
  static override args = {
    proposal: Args.string({
      required: true,
      description: 'Its first digits, as sites values proposals or rollout status shows them',
    }),
  };
  static override flags = {
    ...hubFlags,
    ...personFlags,
    key: Flags.string({ required: true, description: KEY_FORMS }),
    ...passwordFlag,
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SitesValuesApprove);
    const configuration = await readConfiguration(flags, process.cwd());
    const now = this.readNow(flags.now);
    await using hub = await openHub(configuration, { by: personAndReason(flags) });
    const key = await openGivenKey(flags.key, {
      what: "approver's key",
      role: 'bundle',
      passwords: passwordsOf(flags),
    });
    const person = personOf(flags);
    const request = { id: args.proposal, key, person, reason: flags.reason ?? '', now };
    const stage = await approveValuesStage(hub, request);
    if (stage) {
      this.log(
        `stage ${stage.stage} of rollout ${stage.rollout} has ${stage.found} of ${formatCount(stage.needed, 'approval')}`,
      );
      return { ...stage, person };
    }
    const { row, conditions, applied, rollouts } = await approveValues(
      hub,
      request,
      configuration.siteValues,
    );
    const id = shortId(row.id);
    if (applied === undefined) {
      this.log(`${id} is approved by ${person}, and waits on`);
      for (const { name, found, wanted, met, holding } of conditions) {
        this.log(`${met ? ' ' : '!'} ${name}  ${found}  (wanted: ${wanted})`);
        for (const line of holding.first) this.log(`    ${line}`);
      }
    } else {
      await settleSites(hub, applied, { now, command: 'sites values approve' });
      for (const line of await appendToLog(hub, 'sites values approve', now)) this.say(line);
      const names = applied.map(({ name, version }) => `${name} is at statement ${version}`).join(', ');
      this.log(
        `${id} is approved by ${person} and made: ${names || 'no site differed'}; the next medium carries it`,
      );
      for (const one of rollouts) this.log(rolloutLine(one.id, one.rollout, one.progress));
    }
    return {
      proposal: row.id,
      person,
      applied: applied?.map(({ name, version }) => ({ site: name, version })) ?? null,
      conditions,
    };
  }
}
