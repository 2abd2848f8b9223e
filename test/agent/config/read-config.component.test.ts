import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FleetError, formatError } from '#bundles/errors';
import { intervalMs } from '../../../agent/config/config.ts';
import { CONFIG_FLAGS } from '../../../agent/config/config-flags.ts';
import { flagOf, parseConfig, readConfig } from '../../../agent/config/read-config.ts';
import schema from '../../../bundles/schemas/agent-config.schema.json' with { type: 'json' };
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const DEFAULTS = {
  state: '/var/lib/fleet-agent',
  root: '/',
  services: 'systemd',
  onDrift: 'correct',
  onStale: 'continue',
  breakGlass: false,
  allowReboot: true,
  interval: '5m',
  maxValidityDays: 400,
  pruneBudget: 5,
  replacedMib: 1024,
  outboxMib: 16,
  clock: 'auto',
  targets: ['host'],
  kubeconfig: '',
  kubeContext: '',
  namespace: 'fleet-agent',
  workspaceAccounts: '',
  systemNamespaces: [],
  adopt: 'ifUnowned',
  deployers: [],
  healthTimeout: '5m',
  containerd: '',
  imageFolder: '',
  imageRegistry: '',
  registry: '',
  hub: '',
  poll: '1m',
  signLooks: '6h',
  plainHttp: [],
  imagePolicy: [],
  caFile: '',
  authFile: '',
  windows: [],
  plugIn: false,
  plugInFileSystems: ['vfat', 'exfat'],
  plugInMaxGib: 256,
  language: 'en',
  metricsAddress: '',
  metricsFile: '',
};

/** What a person reads. */
const said = (text: string): string => {
  try {
    parseConfig('agent.yaml', text);
    return 'accepted';
  } catch (error) {
    if (error instanceof FleetError) return formatError(error);
    throw error;
  }
};

describe('the configuration', () => {
  it('has the defaults on a machine without a file', () => {
    expect(readConfig(undefined, {})).toEqual(DEFAULTS);
  });

  it('is read from the file, with flags taking precedence, and refused for a missing file', async () => {
    await using folder = await temporaryDirectory('config');
    const file = join(folder.path, 'agent.yaml');
    await writeFile(file, 'services: none\ninterval: 30s\npruneBudget: 0\n');
    const config = readConfig(file, { interval: '1h', root: '/srv/line', onDrift: undefined });
    expect(config).toEqual({
      ...DEFAULTS,
      services: 'none',
      interval: '1h',
      pruneBudget: 0,
      root: '/srv/line',
    });
    expect(intervalMs(config)).toBe(3_600_000);
    expect(() => readConfig(join(folder.path, 'other.yaml'), {})).toThrow('there is no configuration file');
  });

  it('resolves paths in the file from its folder, and paths in flags from the working directory', async () => {
    await using folder = await temporaryDirectory('config');
    const file = join(folder.path, 'agent.yaml');
    await writeFile(file, 'kubeconfig: kube/config\ncaFile: ../ca.pem\n');
    expect(readConfig(file, { authFile: 'auth.json' })).toMatchObject({
      kubeconfig: join(folder.path, 'kube/config'),
      caFile: join(dirname(folder.path), 'ca.pem'),
      authFile: 'auth.json',
    });
  });

  it.each([
    [
      'state: /x\nservices: upstart\n',
      'agent.yaml:2:11: CONFIG_INVALID: services must be one of systemd, none',
    ],
    ['pruneBudget: many\n', 'agent.yaml:1:14: CONFIG_INVALID: pruneBudget must be integer'],
    ['a: [\n', 'agent.yaml:2:1: CONFIG_INVALID: this is not YAML'],
    ['state: /x\n\n  root: /\n', 'agent.yaml:1:8: CONFIG_INVALID'],
    [
      'targets: [host, cloud]\n',
      'agent.yaml:1:17: CONFIG_INVALID: targets/1 must be one of host, kubernetes',
    ],
    ['root: *home\n', 'agent.yaml:1:1: CONFIG_INVALID: this is not YAML: unresolved alias'],
    ['- one\n', 'agent.yaml:1:1: CONFIG_INVALID: the configuration must be object'],
    ['xyzzy: 1\n', 'agent.yaml:1:1: CONFIG_INVALID: there is no key "xyzzy"; there are state, root'],
    [
      'poll: soon\n',
      'agent.yaml:1:7: CONFIG_INVALID: poll is not valid. Time between two questions to the registry: a number and s, m or h, like 1m.',
    ],
    ['root: /\nrot: /\n', 'agent.yaml:2:1: CONFIG_INVALID: there is no key "rot"; did you mean root?'],
  ])('names line and column of a mistake: %j', (text, expected) => {
    expect(said(text)).toContain(expected);
  });

  it('names the wrong flag or variable', () => {
    expect(() => readConfig(undefined, { state: 'state' })).toThrow('absolute path');
    const wrong = () => readConfig(undefined, { interval: 'soon' });
    expect(wrong).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', subject: '--interval or FLEET_AGENT_INTERVAL' }),
    );
  });

  it('may be empty', () => {
    expect(parseConfig('agent.yaml', '# nothing\n')).toEqual({});
  });

  it('has a flag and an environment variable for every key except those that only the owner may set', () => {
    const owners = [
      'allowReboot',
      'breakGlass',
      'adopt',
      'workspaceAccounts',
      'systemNamespaces',
      'deployers',
      'imagePolicy',
      'plugIn',
      'plugInFileSystems',
      'plugInMaxGib',
      'language',
    ];
    const keys = Object.keys(schema.properties).filter((key) => !owners.includes(key));
    const flags = Object.entries(CONFIG_FLAGS).filter(([name]) => name !== 'config');
    expect(flags.map(([name]) => name)).toEqual(keys.map(flagOf));
    for (const [name, { env }] of Object.entries(CONFIG_FLAGS)) {
      expect(env).toBe(`FLEET_AGENT_${name.replaceAll('-', '_').toUpperCase()}`);
    }
  });
});
