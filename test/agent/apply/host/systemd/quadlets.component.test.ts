import { describe, expect, it, test } from 'vitest';
import { requireGenerator, serviceOfQuadlet } from '../../../../../agent/apply/host/systemd/quadlets.ts';
import {
  hasFragment,
  isFileOfUnit,
  isGenerated,
  isUnitFile,
} from '../../../../../agent/apply/host/systemd/unit-files.ts';
import { readWanted } from '../../../../../agent/apply/host/desired/read-wanted.ts';
import { packageOf, sandbox } from '../sandbox.ts';

const FOLDER = '/etc/containers/systemd';

test.each([
  [`${FOLDER}/web.container`, 'web.service'],
  [`${FOLDER}/team/web.container`, 'web.service'],
  [`${FOLDER}/web@.container`, 'web@.service'],
  [`${FOLDER}/data.volume`, 'data-volume.service'],
  [`${FOLDER}/line.network`, 'line-network.service'],
  [`${FOLDER}/all.kube`, 'all.service'],
  [`${FOLDER}/notes.txt`, undefined],
  ['/etc/systemd/system/web.container', undefined],
  [`${FOLDER}/x.constructor`, undefined],
])('podman makes of %s: %s', (path, service) => {
  expect(serviceOfQuadlet(path)).toBe(service);
});

describe('a service of a quadlet', () => {
  const path = `${FOLDER}/web.container`;
  it('is restarted by its quadlet and its drop-ins, and not by those of others', () => {
    expect(isFileOfUnit('web.service', path)).toBe(true);
    expect(isFileOfUnit('web.service', `${path}.d/10-port.conf`)).toBe(true);
    expect(isFileOfUnit('web@1.service', `${FOLDER}/web@.container`)).toBe(true);
    expect(isFileOfUnit('other.service', path)).toBe(false);
    expect(isFileOfUnit('web.service', `${FOLDER}/web.volume`)).toBe(false);
  });

  it('is generated: a change needs a daemon-reload, also where no unit is listed', () => {
    expect(isUnitFile(`${FOLDER}/data.volume`, [])).toBe(true);
    expect(isGenerated('web.service', [path])).toBe(true);
    expect(isGenerated('web.service', ['/etc/systemd/system/web.service'])).toBe(false);
    expect(hasFragment('web.service', [path])).toBe(true);
  });

  it('is only written where the root is not /, whether a generator is there or not', async () => {
    await using host = await sandbox();
    const wanted = readWanted(packageOf({ files: { [path]: '[Container]\nImage=x\n' } }));
    const options = { services: 'systemd', root: '/nowhere' } as Parameters<typeof requireGenerator>[0];
    expect(() => requireGenerator({ ...options, root: host.root }, wanted)).not.toThrow();
  });
});
