import { Args } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../../hub/open-hub.ts';
import { acceptLocalEdit } from '../../../hub/promote/values/answer-local-edit.ts';
import { shortId } from '../../../hub/promote/values/propose-values.ts';
import { findLocalEdit } from '../../../hub/sites/local-edits.ts';
import { settleSites } from '../../../hub/sites/layers/settle-sites.ts';
import { readConfiguration } from '../../../settings/configuration.ts';
import { hubFlags } from '../../../settings/configuration-flags.ts';
import { appendToLog } from '../../append-to-log.ts';
import { personAndReason, personFlags } from '../../person-flags.ts';

export default class SitesValuesAccept extends FleetCommand {
  static override description =
    'Accept a value that a person at a site set: it becomes the value of the site where the agent is its only one, else of the agent.\n\nWhere the review wants approvals it becomes a proposal by that person.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> 4f0c2a9be1d7 --reason "agreed with the plant"',
  ];
  static override args = {
    edit: Args.string({ required: true, description: 'Its first digits, as sites values local shows them' }),
  };
  static override flags = { ...hubFlags, ...personFlags };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SitesValuesAccept);
    const configuration = await readConfiguration(flags, process.cwd());
    const now = this.readNow(flags.now);
    const by = personAndReason(flags);
    await using hub = await openHub(configuration, { by });
    const edit = await findLocalEdit(hub.store.db, args.edit);
    const accepted = await acceptLocalEdit(hub, edit, { by, now, review: configuration.siteValues });
    if (accepted.kind === 'made')
      await settleSites(hub, accepted.rows, { now, command: 'sites values accept' });
    for (const line of await appendToLog(hub, 'sites values accept', now)) this.say(line);
    const what = `${edit.name} = ${edit.value} of ${edit.agent}`;
    if (accepted.kind === 'proposed') {
      const id = shortId(accepted.proposal.row.id);
      const waits = accepted.proposal.conditions.map(({ name, wanted }) => `${name}: ${wanted}`);
      this.log(`${what} is proposed as ${id}; it waits for ${waits.join(', ')}. Nothing was changed yet`);
      this.log(`Approve it with: fleet-scheduler sites values approve ${id} --key <the approver's key>`);
      return { edit: edit.edit, proposal: accepted.proposal.row.id, waits };
    }
    this.log(`${what} is accepted; the next medium carries the answer`);
    return {
      edit: edit.edit,
      accepted: accepted.rows.map(({ name, version }) => ({ site: name, version })),
    };
  }
}
