import { relative, resolve } from 'node:path';
import { Flags } from '@oclif/core';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { readConfiguration } from '../../settings/configuration.ts';
import { environmentFlag, platformFlags } from '../../settings/configuration-flags.ts';
import { describeTakeover } from '../../views/import/describe-takeover.ts';
import { takeOver } from '../../views/import/take-over.ts';
import { platformOptions } from '../../load/platform/platform-options.ts';

export default class ImportKalypso extends FleetCommand {
  static override description = `Takes over the repositories of a Kalypso control plane and says what differs.

Renders every environment as Kalypso does and compares with what its GitOps repository holds. With --to, writes the same
platform with environments as folders, renders that too, and names every file and value that comes out differently.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %> --platform https://github.com/me/control-plane --fleet me',
    '<%= config.bin %> <%= command.id %> --platform https://github.com/me/control-plane --fleet me --environment dev --environment prod --to platform',
  ];
  static override flags = {
    ...platformFlags,
    fleet: Flags.string({ required: true, description: 'Name the fleet shall have' }),
    environment: environmentFlag(
      'An environment, in the order of the promotion chain [default: all, by name]',
    ),
    to: Flags.string({ description: 'Folder to write the platform to: new, or empty' }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(ImportKalypso);
    const configuration = await readConfiguration(flags, process.cwd());
    const to = flags.to === undefined ? undefined : relative(process.cwd(), resolve(flags.to)) || '.';
    const report = await takeOver({
      ...platformOptions(configuration, { cwd: process.cwd(), env: process.env, signal: this.signal }),
      fleet: parseName(flags.fleet, 'fleet'),
      environments: flags.environment,
      to,
      signal: this.signal,
    });
    for (const line of describeTakeover(report, to)) this.log(line);
    const [first] = report.broken.flatMap(({ errors }) => errors);
    if (first) process.exitCode = first.exitCode;
    return {
      ...report,
      notes: report.notes.map((note) => this.toErrorJson(note)),
      broken: report.broken.map(({ environment, errors }) => ({
        environment,
        problems: errors.map((error) => this.toErrorJson(error)),
      })),
      environments: report.environments.map((one) => ({
        ...one,
        held: one.held.map(({ assignment, error }) => ({
          assignment: assignment.target.name,
          clusterType: assignment.clusterType.name,
          ...(this.toErrorJson(error) as object),
        })),
        advice: one.advice.map((error) => this.toErrorJson(error)),
        published:
          one.published.state === 'unread'
            ? { state: 'unread', ...(this.toErrorJson(one.published.error) as object) }
            : one.published,
      })),
    };
  }
}
