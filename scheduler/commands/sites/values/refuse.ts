import { Args } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../../hub/open-hub.ts';
import { refuseLocalEdit } from '../../../hub/promote/values/answer-local-edit.ts';
import { findLocalEdit } from '../../../hub/sites/local-edits.ts';
import { settleSites } from '../../../hub/sites/layers/settle-sites.ts';
import { readConfiguration } from '../../../settings/configuration.ts';
import { hubFlags } from '../../../settings/configuration-flags.ts';
import { appendToLog } from '../../append-to-log.ts';
import { personAndReason, personFlags, reasonFlag } from '../../person-flags.ts';

export default class SitesValuesRefuse extends FleetCommand {
  static override description =
    'Refuse a value that a person at a site set: the next medium, or the next poll of its agent, takes it back there.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> 4f0c2a9be1d7 --reason "line 7 is inspected tomorrow"',
  ];
  static override args = {
    edit: Args.string({ required: true, description: 'Its first digits, as sites values local shows them' }),
  };
  static override flags = { ...hubFlags, person: personFlags.person, reason: reasonFlag };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SitesValuesRefuse);
    const now = this.readNow(flags.now);
    const by = personAndReason(flags);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()), { by });
    const edit = await findLocalEdit(hub.store.db, args.edit);
    const rows = await refuseLocalEdit(hub, edit, { by, now });
    await settleSites(hub, rows, { now, command: 'sites values refuse' });
    for (const line of await appendToLog(hub, 'sites values refuse', now)) this.say(line);
    this.log(`${edit.name} = ${edit.value} of ${edit.agent} is refused; the next medium takes it back there`);
    return { edit: edit.edit, refused: rows.map(({ name, version }) => ({ site: name, version })) };
  }
}
