import { describe, expect, it } from 'vitest';
import { formatError } from '#bundles/errors';
import { assembleHost } from '../../../../../scheduler/assemble/bundle/host/assemble-host.ts';
import { noAccess } from '../../content/no-access.ts';
import { clusterType, renderedPackage, target } from '../../../model-objects.ts';

const rendered = renderedPackage(
  clusterType('press', { target: 'host', configType: 'env-file', offline: true }),
  target('scale/host', { at: { file: 'workload.yaml', line: 7, column: 7 } }),
);

/** Advice about a package with /etc/scale.env, /opt/serve.py, a secret, and a service with these lines. */
const advice = async (lines: readonly string[], unit = 'name: scale.service', more = '') => {
  const text = `apiVersion: fleet-ferry/v1alpha1
kind: HostPackage
metadata: {name: scale}
spec:
  files:
    - {path: /etc/scale.env, content: "A=1\\n"}
    - {path: /opt/serve.py, content: "pass\\n"}
${more}  secrets:
    - {path: /run/scale/password, set: mqtt, key: password}
  units:
    - {${unit}, content: "[Service]\\n${lines.join('\\n')}\\n"}
`;
  const files = new Map([['package.yaml', Buffer.from(text)]]);
  const { suspects = [] } = await assembleHost(rendered, { shown: 'apps/scale/', files }, noAccess());
  return suspects.map(formatError);
};

const START = 'ExecStart=/usr/bin/python3 /opt/serve.py';

describe('a file of the package that a service reads at its start and that does not restart it', () => {
  it('is advice at the unit, with what to write', async () => {
    expect(await advice(['EnvironmentFile=-/etc/scale.env', 'ExecStart=/usr/bin/scale'])).toEqual([
      'apps/scale/package.yaml:11:7: REFERENCE_MISSING: scale.service reads /etc/scale.env at its start, and a change of it does not restart it. Add /etc/scale.env to restartOn, unless the service notices changes.',
    ]);
  });

  it.each([
    [
      'a credential',
      ['LoadCredential=password:/run/scale/password', 'ExecStart=/usr/bin/scale'],
      '/run/scale/password',
    ],
    ['a program, or what it is called with', [START], '/opt/serve.py'],
    ['a program with prefixes', ['ExecStart=-!!/opt/serve.py --now'], '/opt/serve.py'],
    [
      'a file of a one-shot that stays active',
      ['Type=oneshot', 'RemainAfterExit=yes', START],
      '/opt/serve.py',
    ],
  ])('may be %s', async (_what, lines, path) => {
    expect(await advice(lines)).toEqual([expect.stringContaining(` reads ${path} at its start`)]);
  });

  it('may be named by a drop-in of the unit', async () => {
    const dropIn = `    - {path: /etc/systemd/system/scale.service.d/10.conf, content: "[Service]\\nEnvironmentFile=/etc/scale.env\\n"}\n`;
    expect(await advice(['ExecStart=/usr/bin/scale'], undefined, dropIn)).toHaveLength(1);
  });

  it.each([
    ['is in restartOn', [START], 'name: scale.service, restartOn: [/opt/serve.py]'],
    ['is not of the package', ['EnvironmentFile=/etc/default/scale', 'ExecStart=/usr/bin/scale'], undefined],
    ['is read anew by each run of a one-shot', ['Type=oneshot', START], undefined],
    [
      'is of a service that another unit starts',
      [START],
      'name: scale.service, enabled: false, active: false',
    ],
  ])('is no advice if it %s', async (_why, lines, unit) => {
    expect(await advice(lines, unit)).toEqual([]);
  });
});

it.each(['RefuseManualStop=yes', 'RefuseManualStart=1'])(
  'a unit with %s is advice, as the agent could not take it back',
  async (line) => {
    const unit = 'name: scale.service, restartOn: [/opt/serve.py]';
    const [one, ...rest] = await advice([START, '[Unit]', line], unit);
    expect(rest).toEqual([]);
    expect(one).toContain(
      `FIELD_INVALID: scale.service has ${line.split('=')[0]}=, so the agent could not start`,
    );
  },
);

it('a unit that may be stopped by hand is no advice', async () => {
  const lines = [START, '[Unit]', 'RefuseManualStop=no'];
  expect(await advice(lines, 'name: scale.service, restartOn: [/opt/serve.py]')).toEqual([]);
});
