import { Args, Flags } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { formatChannel, parseChannel, parseName } from '#bundles/names';
import { repeatable } from '#cli/flags';
import { FleetCommand } from '#cli/fleet-command';
import { auditLog } from '../../hub/http/audit-log.ts';
import { FOLLOWERS_PATH } from '../../hub/http/hooks/notification-routes.ts';
import { hasNoSites, openHub } from '../../hub/open-hub.ts';
import { siteSigner } from '../../hub/sites/site-signer.ts';
import { composeAgent } from '../../hub/sites/layers/compose-agent.ts';
import { registerFollower } from '../../hub/ingest/followers/register-follower.ts';
import { checkReleased, readReleased } from '../../hub/sites/check-released.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';
import { appendToLog } from '../append-to-log.ts';
import { personFlags, personAndReason } from '../person-flags.ts';
import { parseLabel } from '../tokens/create.ts';

export default class SitesFollow extends FleetCommand {
  static override description =
    'Register a cluster that follows a channel by Flux, Argo CD or Rancher Fleet, and print the token for its notifications.\n\nThe hub accepts their notifications about it, and shows and counts it like an agent, marked as unsigned. For a follower that is known the token is replaced, and so are the channel and the labels given; the old token is refused from then on. "sites revoke" ends it.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> plant-7/edge --by flux --channel prod/edge',
    '<%= config.bin %> <%= command.id %> plant-8/edge --by argo-cd --channel prod/edge --label ring=pilot',
    '<%= config.bin %> <%= command.id %> plant-9/edge --by rancher-fleet --channel prod/edge',
  ];
  static override args = {
    follower: Args.string({ required: true, description: '<site>/<name>' }),
  };
  static override flags = {
    ...hubFlags,
    ...personFlags,
    by: Flags.option({
      options: ['flux', 'argo-cd', 'rancher-fleet'] as const,
      required: true,
      description: 'Program that follows the channel there and notifies the hub',
    })(),
    channel: Flags.string({ required: true, description: 'The environment/type that it follows' }),
    'allow-unreleased': Flags.boolean({ description: 'Also take a channel without a release' }),
    label: Flags.string({
      description: '<name>=<value>: its labels, for gates and rollouts',
      ...repeatable,
    }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(SitesFollow);
    const [site, name, ...rest] = args.follower.split('/');
    if (rest.length > 0)
      throw new FleetError('USAGE', `${JSON.stringify(args.follower.slice(0, 160))} is not <site>/<name>`);
    const channel = parseChannel(flags.channel);
    const order = {
      site: parseName(site, 'site'),
      name: parseName(name, 'follower'),
      kind: flags.by,
      channel,
      labels: flags.label === undefined ? undefined : Object.fromEntries(flags.label.map(parseLabel)),
    };
    const configuration = await readConfiguration(flags, process.cwd());
    await using hub = await openHub(configuration, {
      create: await hasNoSites(configuration),
      by: personAndReason(flags),
    });
    if (!flags['allow-unreleased']) checkReleased(channel, await readReleased(hub.layout));
    const now = this.readNow(flags.now);
    const signer = { ...(await siteSigner(hub)), composeAgent: composeAgent(hub, now) };
    const { row, token, result } = await registerFollower(hub.store, order, signer, now);
    const path = `${FOLLOWERS_PATH}/${row.id}/${flags.by}`;
    const about = { follower: row.id, by: flags.by, channel: formatChannel(channel), result };
    for (const line of await appendToLog(hub, 'sites follow', now)) this.say(line);
    auditLog(process.stderr)?.info(about, 'follower registered');
    this.log(token);
    this.say(
      `${row.id} ${result}: it follows ${formatChannel(channel)} by ${flags.by}, and notifies ${path} of the hub. The token is not shown again.`,
    );
    return { ...about, token, path };
  }
}
