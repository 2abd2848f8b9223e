import { Args } from '@oclif/core';
import { FleetCommand } from '#cli/fleet-command';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { openHub, publishSite, siteSigner } from '../../hub/hub.ts';
import { revokeAgent } from '../../hub/sites/revoke-agent.ts';
import { siteRemarks } from '../../hub/sites/secrets/list-secrets.ts';

export default class SitesRevoke extends FleetCommand {
  static override description =
    'Remove an agent from its site: its key and its reports are refused from now on.\n\nRunning packages keep running; the agent gets no new release once it has the next statement.';
  static override examples = ['<%= config.bin %> <%= command.id %> plant-7/press-1'];
  static override args = { agent: Args.string({ required: true, description: '<site>/<agent>' }) };
  static override flags = hubFlags;

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SitesRevoke);
    const configuration = await readConfiguration(flags, process.cwd());
    await using hub = await openHub(configuration);
    const now = this.readNow(flags.now);
    const { site, changed } = await revokeAgent(hub.store, args.agent, await siteSigner(hub), now);
    await publishSite(hub, site, { now, command: 'sites revoke' });
    this.log(
      changed
        ? `${args.agent} is revoked; site ${site.name} is at statement ${site.version}`
        : `${args.agent} was revoked before; nothing changed`,
    );
    const remarks = await siteRemarks(hub.store.db, site.name, configuration.escrow);
    for (const remark of remarks) this.log(`  ! ${remark}`);
    return { agent: args.agent, site: site.name, version: site.version, changed, remarks };
  }
}
