import { Args } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../../hub/open-hub.ts';
import { rejectValues } from '../../../hub/promote/values/approve-values.ts';
import { shortId } from '../../../hub/promote/values/propose-values.ts';
import { checkReason } from '../../../release/audit/decide.ts';
import { readConfiguration } from '../../../settings/configuration.ts';
import { hubFlags } from '../../../settings/configuration-flags.ts';
import { appendToLog } from '../../append-to-log.ts';
import { personFlags, personAndReason, personOf, reasonFlag } from '../../person-flags.ts';

export default class SitesValuesReject extends FleetCommand {
  static override description =
    'Reject a change of values that waits for review, or withdraw your own. The change is then never made.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> 4f0c2a9be1d7 --reason "the gateway stays"',
  ];
  static override args = {
    proposal: Args.string({
      required: true,
      description: 'Its first digits, as sites values proposals shows them',
    }),
  };
  static override flags = {
    ...hubFlags,
    person: personFlags.person,
    reason: reasonFlag,
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SitesValuesReject);
    const now = this.readNow(flags.now);
    const reason = checkReason(flags.reason);
    const person = personOf(flags);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()), {
      by: personAndReason(flags),
    });
    const { row } = await rejectValues(hub, args.proposal, { person, reason }, now);
    for (const line of await appendToLog(hub, 'sites values reject', now)) this.say(line);
    this.log(`${shortId(row.id)} by ${row.person} is rejected; no value was changed`);
    return { proposal: row.id, person, reason };
  }
}
