import { afterEach, expect, it, vi } from 'vitest';
import { AgentCommand } from '../../../agent/commands/agent-command.ts';
import type { Config } from '../../../agent/config/config.ts';

/** A command that tells its configuration. */
class Probe extends AgentCommand {
  async run(): Promise<Config> {
    return this.readConfig((await this.parse(Probe)).flags);
  }
}

const configOf = async (args: readonly string[], env: Readonly<Record<string, string>>): Promise<Config> => {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  return await Probe.run([...args], import.meta.url);
};

afterEach(() => vi.unstubAllEnvs());

it('configuration keys with several values are read from the environment variables that the help shows', async () => {
  const config = await configOf([], {
    FLEET_AGENT_TARGETS: 'host,kubernetes',
    FLEET_AGENT_PLAIN_HTTP: 'one.example:5000, 10.0.0.1:5000',
    FLEET_AGENT_WINDOWS: '0 22 * * 1,3 for 6h; 0 4 * * 0 for 2h',
    FLEET_AGENT_HUB: 'https://10.0.0.1:8443',
  });
  expect(config).toMatchObject({
    targets: ['host', 'kubernetes'],
    plainHttp: ['one.example:5000', '10.0.0.1:5000'],
    windows: ['0 22 * * 1,3 for 6h', '0 4 * * 0 for 2h'],
    hub: 'https://10.0.0.1:8443',
  });
});

it('flags take precedence over environment variables', async () => {
  const args = ['--plain-http', 'a:1,b:2', '--plain-http', 'c:3', '--windows', '0 4 * * 0 for 2h'];
  const config = await configOf(args, {
    FLEET_AGENT_PLAIN_HTTP: 'd:4',
    FLEET_AGENT_WINDOWS: '0 22 * * 1,3 for 6h',
  });
  expect(config).toMatchObject({ plainHttp: ['a:1', 'b:2', 'c:3'], windows: ['0 4 * * 0 for 2h'] });
});
