import { Flags } from '@oclif/core';
import { FleetError, formatError } from '#bundles/errors';
import { FleetCommand } from '#bundles/program/fleet-command';
import { readConfiguration } from '../configuration.ts';
import { configurationFlags } from '../configuration-flags.ts';
import { validatePlatform } from '../platform/validate-platform.ts';
import { platformOptions } from './platform-options.ts';

const { config, platform, cache, map } = configurationFlags;

export default class Validate extends FleetCommand {
  static override description = `Finds every mistake of a platform, in all its environments, in one go.

Reads what build would read and makes every bundle, but writes nothing; only images are not looked for.`;
  static override examples = [
    '<%= config.bin %> validate --platform examples/platform',
    '<%= config.bin %> validate --platform https://git.example/platform#main --environment dev',
  ];
  static override flags = {
    config,
    platform,
    cache,
    map,
    environment: Flags.string({
      char: 'e',
      multiple: true,
      multipleNonGreedy: true,
      description: 'Only this environment',
    }),
    fleet: Flags.string({ description: "Fleet name, for Kalypso's form" }),
  };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(Validate);
    const configuration = await readConfiguration(flags, process.cwd());
    const { environments, problems, advice } = await validatePlatform({
      ...platformOptions(configuration, { cwd: process.cwd(), env: process.env, signal: this.signal }),
      ...(flags.environment && { environments: flags.environment }),
      ...(flags.fleet !== undefined && { fleet: flags.fleet }),
    });
    for (const problem of problems) this.say(formatError(problem));
    for (const one of advice) this.say(`advice: ${formatError(one)}`);
    if (problems.length === 0) {
      this.say(`${environments.join(', ')}: nothing wrong`);
    } else {
      process.exitCode = new FleetError('PLATFORM_INVALID', '').exitCode;
      this.say(`${problems.length} problem${problems.length === 1 ? '' : 's'} in ${environments.join(', ')}`);
    }
    return {
      environments,
      problems: problems.map((it) => this.toErrorJson(it)),
      advice: advice.map((it) => this.toErrorJson(it)),
    };
  }
}
