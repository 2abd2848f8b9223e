import { readFile } from 'node:fs/promises';
import { Args, Flags } from '@oclif/core';
import { stringify } from 'yaml';
import { FleetError } from '#bundles/errors';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { type Layout, openLayout } from '#bundles/formats/layout/layout';
import { type Channel, formatChannel, parseChannel } from '#bundles/names';
import { readFleetChain } from '#bundles/transport/publish/read-fleet-chain';
import { unlessMissing } from '#bundles/unless-missing';
import { FleetCommand } from '#cli/fleet-command';
import { bundlesOf, readRelease } from '../load/releases/read-release.ts';
import { unpackBundle } from '../load/releases/unpack-bundle.ts';
import { readConfiguration, requireSetting } from '../settings/configuration.ts';
import { configurationFlags } from '../settings/configuration-flags.ts';
import { lackingRights } from '../views/rights/lacking-rights.ts';
import { neededRights } from '../views/rights/needed-rights.ts';
import { parseRoles } from '../views/rights/parse-roles.ts';
import { type RightsObject, rightsObjects } from '../views/rights/rights-objects.ts';

const { config, layout } = configurationFlags;

export default class Rights extends FleetCommand {
  static override description =
    'Writes the least roles with which an agent can apply the newest release of a channel to a cluster, as objects for kubectl.\n\nA cluster administrator applies them before the release arrives. With --granted, prints what the release needs beyond the roles in that file instead, and exits with 1 if it needs anything.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> prod/edge > rights.yaml && kubectl apply -f rights.yaml',
    '<%= config.bin %> <%= command.id %> prod/edge --accounts fleet-workspaces',
    '<%= config.bin %> <%= command.id %> prod/edge --granted rights.yaml',
  ];
  static override args = {
    channel: Args.string({ required: true, description: 'Channel, environment/cluster type' }),
  };
  static override flags = {
    config,
    layout,
    namespace: Flags.string({
      description: "Namespace of the agent's service account fleet-agent",
      default: 'fleet-agent',
    }),
    accounts: Flags.string({
      description:
        'Namespace of the service accounts of the workspaces, as workspaceAccounts in agent.yaml [default: none]',
    }),
    granted: Flags.string({ description: 'File with the roles that the clusters have' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Rights);
    const channel = parseChannel(args.channel);
    const configuration = await readConfiguration(flags, process.cwd());
    const opened = await openLayout(requireSetting(configuration, 'layout'));
    const packages = await packagesOf(opened, channel, this.signal);
    const agent = { namespace: flags.namespace, name: 'fleet-agent' };
    const rights = neededRights(packages, flags.accounts !== undefined);
    const objects = rightsObjects(rights, { agent, accounts: flags.accounts });
    if (flags.granted === undefined) {
      this.logText(
        objects
          .map(
            (one) => `---
${stringify(one, { aliasDuplicateObjects: false })}`,
          )
          .join(''),
      );
      return { objects };
    }
    const lacking = lackingRights(objects, await readRoles(flags.granted));
    for (const line of lacking) this.log(line);
    if (lacking.length > 0) process.exitCode = 1;
    return { lacking };
  }
}

const packagesOf = async (opened: Layout, channel: Channel, signal: AbortSignal) => {
  const release = await readRelease(opened, channel, await readFleetChain(opened));
  if (!release)
    throw new FleetError('CHANNEL_MISSING', `the layout has no release of ${formatChannel(channel)}`, {
      hint: 'Build it first: fleet-scheduler build',
    });
  const found = await Promise.all(
    bundlesOf(release).map(async (digest) => {
      const bundle = await readBundle(opened.blobs, digest, signal);
      if (bundle.kind !== 'kubernetes') return [];
      const files = await unpackBundle(opened.blobs, bundle, signal);
      return bundle.config.assignments.map((assignment) => ({
        assignment,
        files: files.get(assignment.id) ?? new Map<string, Buffer>(),
      }));
    }),
  );
  return found.flat();
};

/** @throws FleetError USAGE, PERMISSION, IO; as parseRoles */
const readRoles = async (file: string): Promise<readonly RightsObject[]> => {
  const text = await unlessMissing(readFile(file, 'utf8'), `reading ${file}`);
  if (text === undefined)
    throw new FleetError('USAGE', `there is no file ${file}`, { hint: 'Check the path' });
  return parseRoles(text, file);
};
