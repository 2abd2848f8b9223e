import { describe, expect, it, test } from 'vitest';
import { isQuadlet, readQuadlets } from '../../../../../agent/apply/host/systemd/quadlets.ts';
import { hasFragment, isFileOfUnit, isUnitFile } from '../../../../../agent/apply/host/systemd/unit-files.ts';
import { readWanted } from '../../../../../agent/apply/host/desired/read-wanted.ts';
import { never, packageOf, sandbox } from '../sandbox.ts';

const FOLDER = '/etc/containers/systemd';

test.each([
  [`${FOLDER}/web.container`, true],
  [`${FOLDER}/team/web@.container`, true],
  [`${FOLDER}/data.volume`, true],
  [`${FOLDER}/model.artifact`, true],
  [`${FOLDER}/users/web.container`, false],
  [`${FOLDER}/notes.txt`, false],
  ['/etc/systemd/system/web.container', false],
  [`${FOLDER}/x.constructor`, false],
])('isQuadlet: %s is %s', (path, is) => {
  expect(isQuadlet(path)).toBe(is);
});

describe('a service of a quadlet', () => {
  const quadlet = `${FOLDER}/front-web.container`;
  const unit = { name: 'shop.service', names: ['shop.service'], quadlet };
  it('is restarted for its quadlet and the drop-ins that Podman reads for it, and not for other drop-ins', () => {
    expect(isFileOfUnit(unit, quadlet)).toBe(true);
    for (const folder of ['front-web.container.d', 'front-.container.d', 'container.d', 'team/container.d'])
      expect(isFileOfUnit(unit, `${FOLDER}/${folder}/10-port.conf`)).toBe(true);
    expect(isFileOfUnit(unit, '/etc/systemd/system/shop.service.d/10.conf')).toBe(true);
    expect(isFileOfUnit(unit, `${FOLDER}/shop.container`)).toBe(false);
    expect(isFileOfUnit(unit, `${FOLDER}/shop.service.d/10.conf`)).toBe(false);
    expect(isFileOfUnit({ ...unit, quadlet: undefined }, quadlet)).toBe(false);
  });

  it('needs a daemon-reload after a change, even if no unit is listed', () => {
    expect(isUnitFile(`${FOLDER}/data.volume`, [])).toBe(true);
    expect(isUnitFile('/etc/other/data.volume', [])).toBe(false);
    expect(hasFragment(unit, [quadlet])).toBe(true);
    expect(hasFragment(unit, [`${quadlet}.d/10.conf`])).toBe(false);
  });

  it('is written without asking the generator when the root is not /', async () => {
    await using host = await sandbox({ services: 'systemd' });
    const wanted = readWanted(packageOf({ files: { [quadlet]: '[Container]\nImage=x\n' } }));
    expect(await readQuadlets(host.options, wanted, never)).toMatchObject({ answer: 'unknown' });
    expect(await readQuadlets(host.options, readWanted(packageOf({})), never)).toMatchObject({
      answer: 'none',
    });
  });
});
