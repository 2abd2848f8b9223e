import { Flags } from '@oclif/core';
import semver from 'semver';
import { defined } from '#bundles/defined';
import { FleetError, formatError } from '#bundles/errors';
import { formatCount } from '#bundles/format-count';
import { FleetCommand } from '#cli/fleet-command';
import { enrolledOf } from '../../views/enrolled-of.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { configurationFlags, environmentFlag, platformFlags } from '../../settings/configuration-flags.ts';
import { formatFinding } from '../../plan/validate/group-findings.ts';
import { validatePlatform } from '../../views/validate-platform.ts';
import { platformOptions } from '../../load/platform/platform-options.ts';

export default class Validate extends FleetCommand {
  static override description = `Finds every error of a platform in all environments in one run.

Reads the same input as build and makes every bundle, without writing and without looking for images.

It also judges the values of sites: of those that the repository declares by its layers, and with --db those of enrolled agents by all their values. A layer that ties or does not fit is an error; a site that lacks a value, or has one that nothing takes, is advice, and holds up no other.`;
  static override examples = [
    '<%= config.bin %> validate --platform examples/platform',
    '<%= config.bin %> validate --platform https://git.example/platform#main --environment dev',
    '<%= config.bin %> validate --kubernetes 1.34',
    '<%= config.bin %> validate --keys keys --layout out --db hub.db',
  ];
  static override flags = {
    ...platformFlags,
    environment: environmentFlag('Only this environment'),
    keys: configurationFlags.keys,
    layout: configurationFlags.layout,
    db: configurationFlags.db,
    kubernetes: Flags.string({
      description:
        'Check rendered objects for these versions of Kubernetes instead of those of the cluster types',
    }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(Validate);
    const configuration = await readConfiguration(flags, process.cwd());
    const { environments, findings, advice, sites } = await validatePlatform({
      ...platformOptions(configuration, { cwd: process.cwd(), env: process.env, signal: this.signal }),
      ...defined({
        environments: flags.environment,
        fleet: flags.fleet,
        enrolled: await enrolledOf(configuration),
        kubernetes: flags.kubernetes !== undefined ? parseRange(flags.kubernetes) : undefined,
      }),
    });
    for (const finding of findings)
      for (const line of formatFinding(finding, environments.length)) this.log(line);
    for (const one of advice) this.say(`advice: ${formatError(one)}`);
    if (findings.length === 0) {
      this.log(`${environments.join(', ')}: nothing wrong`);
    } else {
      // If all errors may disappear on a retry, the exit code is not 3 (wrong input).
      const [passing] = findings.every(({ error }) => error.retryable) ? findings : [];
      process.exitCode = (passing?.error ?? new FleetError('PLATFORM_INVALID', '')).exitCode;
      this.log(
        `${formatCount(findings.length, 'problem')} in ${environments.join(', ') || 'the list of environments'}`,
      );
    }
    return {
      environments,
      problems: findings.map(({ error, ...more }) => ({ ...(this.toErrorJson(error) as object), ...more })),
      advice: advice.map((it) => this.toErrorJson(it)),
      sites: sites.map(({ error, ...finding }) => ({ ...finding, ...(this.toErrorJson(error) as object) })),
    };
  }
}

/** @throws FleetError USAGE */
const parseRange = (text: string): string => {
  if (semver.validRange(text) !== null) return text;
  throw new FleetError('USAGE', `${JSON.stringify(text)} is not a range of Kubernetes versions`, {
    hint: 'Write it like 1.34 or ">=1.31 <1.34"',
  });
};
