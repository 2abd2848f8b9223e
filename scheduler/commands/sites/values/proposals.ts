import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../../hub/open-hub.ts';
import { showChange } from '../../../hub/promote/values/describe-values.ts';
import { judgeProposal } from '../../../hub/promote/values/judge-proposal.ts';
import { readProposals, shortId, whoseOf } from '../../../hub/promote/values/propose-values.ts';
import { readHiddenOf } from '../../../hub/sites/hidden-values.ts';
import { formatValues } from '../../../hub/sites/list-sites.ts';
import type { ProposedValue } from '../../../model/proposed-values.ts';
import { readConfiguration } from '../../../settings/configuration.ts';
import { hubFlags } from '../../../settings/configuration-flags.ts';

export default class SitesValuesProposals extends FleetCommand {
  static override description = 'Show the changes of values that wait for review, and what each waits for.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];
  static override flags = hubFlags;

  async run(): Promise<unknown> {
    const { flags } = await this.parse(SitesValuesProposals);
    const configuration = await readConfiguration(flags, process.cwd());
    await using hub = await openHub(configuration);
    const waiting = [];
    for (const proposal of await readProposals(hub.store.db, 'waiting'))
      waiting.push(await judgeProposal(hub, proposal, configuration.siteValues));
    const hidden = await readHiddenOf(
      hub,
      waiting.flatMap(({ proposed }) => proposed.changes.map(({ site }) => site)),
    );
    const withheld = (one: ProposedValue): ProposedValue => ({
      ...one,
      ...showChange(one, hidden(one.site)),
    });
    for (const { row, proposed, conditions } of waiting) {
      const { reason } = proposed;
      this.log(`${shortId(row.id)}  ${row.at}  by ${row.person}${reason === null ? '' : `: ${reason}`}`);
      for (const one of proposed.changes) this.log(`  ${whoseOf(one)}  ${describeValue(withheld(one))}`);
      for (const { name, found, wanted, met, holding } of conditions) {
        this.log(`  ${met ? ' ' : '!'} ${name}  ${found}  (wanted: ${wanted})`);
        for (const line of holding.first) this.log(`      ${line}`);
      }
    }
    if (waiting.length === 0) this.log('No change of values waits.');
    return {
      fleet: hub.store.fleet,
      proposals: waiting.map(({ row, proposed, conditions }) => ({
        id: row.id,
        person: row.person,
        reason: proposed.reason,
        at: row.at,
        changes: proposed.changes.map(withheld),
        conditions,
      })),
    };
  }
}

const describeValue = ({ name, old, new: next }: ProposedValue): string => {
  const part = (value: unknown): string =>
    value === undefined ? 'nothing' : formatValues({ x: value }).slice('x='.length);
  return `${name}: ${part(old)} -> ${part(next)}`;
};
