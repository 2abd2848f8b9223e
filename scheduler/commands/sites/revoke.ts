import { Args } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { openHub } from '../../hub/open-hub.ts';
import { settleSites } from '../../hub/sites/layers/settle-sites.ts';
import { siteSigner } from '../../hub/sites/site-signer.ts';
import { readLocalEdits } from '../../hub/sites/local-edits.ts';
import { revokeAgent } from '../../hub/sites/revoke-agent.ts';
import { siteRecommendations } from '../../hub/sites/secrets/list-secrets.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { appendToLog } from '../append-to-log.ts';
import { requireReason, removalReasonFlags } from '../person-flags.ts';

export default class SitesRevoke extends FleetCommand {
  static override description =
    'Remove an agent from its site: its key and its reports are refused from now on.\n\nRunning packages keep running; the agent gets no new release once it has the next statement.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> plant-7/press-1 --reason "sold to another plant"',
  ];
  static override args = { agent: Args.string({ required: true, description: '<site>/<agent>' }) };
  static override flags = { ...hubFlags, ...removalReasonFlags };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SitesRevoke);
    const configuration = await readConfiguration(flags, process.cwd());
    const by = await requireReason(
      flags,
      `${args.agent} is removed from its site: its key and its reports are refused from now on, and gates no longer count it`,
      { json: this.jsonEnabled(), signal: this.signal },
    );
    await using hub = await openHub(configuration, { by });
    const now = this.readNow(flags.now);
    const { site, changed } = await revokeAgent(hub.store, args.agent, await siteSigner(hub), now);
    await settleSites(hub, [site], { now, command: 'sites revoke' });
    for (const line of await appendToLog(hub, 'sites revoke', now)) this.say(line);
    this.log(
      changed
        ? `${args.agent} is revoked; site ${site.name} is at statement ${site.version}`
        : `${args.agent} was revoked before; nothing changed`,
    );
    const edits = await readLocalEdits(hub.store.db, { site: site.name, states: ['waiting'] });
    const unanswered = edits.filter(({ agent }) => agent === args.agent);
    const remarks = [
      ...unanswered.map(
        ({ name, value, person, reason }) =>
          `its local value ${name} = ${value}, by ${person}: ${reason}, was not answered, and ends with it; give it with sites set if it is still meant`,
      ),
      ...(await siteRecommendations(hub.store.db, site.name, configuration.escrow)),
    ];
    for (const remark of remarks) this.log(`  ! ${remark}`);
    return { agent: args.agent, site: site.name, version: site.version, changed, remarks };
  }
}
