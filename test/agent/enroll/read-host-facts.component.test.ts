import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { readHostFacts } from '../../../agent/enroll/read-host-facts.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const factsOf = async (files: Readonly<Record<string, string>>) => {
  await using root = await temporaryDirectory('facts');
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root.path, path)), { recursive: true });
    await writeFile(join(root.path, path), text);
  }
  return await readHostFacts(root.path);
};

test('readHostFacts reads firmware, kernel, disks and os-release', async () => {
  const facts = await factsOf({
    'sys/class/dmi/id/sys_vendor': 'Acme\n',
    'sys/class/dmi/id/product_serial': 'PX-4711\n',
    'sys/class/dmi/id/product_uuid': 'AB-CD\n',
    'etc/os-release': 'ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n',
    'sys/block/sda/size': `${512 << 21}\n`,
    'sys/block/sda/removable': '0\n',
    'sys/block/sdb/size': '1\n',
    'sys/block/sdb/removable': '1\n',
    'sys/block/loop0/size': '1\n',
    'sys/class/net/lo/address': '00:00:00:00:00:00\n',
    'sys/class/net/eth0/address': '02:00:00:00:00:0A\n',
    'sys/class/net/eth0/device/vendor': '',
    'sys/class/net/bridge0/address': '02:00:00:00:00:0b\n',
  });
  expect(facts).toMatchObject({
    vendor: 'Acme',
    serial: 'PX-4711',
    uuid: 'ab-cd',
    osId: 'debian',
    osVersion: '12',
    osCodename: 'bookworm',
    disks: 'sda=512',
    macs: '02:00:00:00:00:0a',
  });
  expect(Number(facts['memoryMib'])).toBeGreaterThan(0);
});

test('readHostFacts leaves out placeholders of vendors, control characters and missing facts', async () => {
  const facts = await factsOf({
    'sys/class/dmi/id/product_serial': 'To be filled by O.E.M.\n',
    'sys/class/dmi/id/product_name': `Box\u001b[31m${'x'.repeat(500)}\n`,
    'proc/device-tree/serial-number': '10000000abcd\u0000',
  });
  expect(facts['serial']).toBe('10000000abcd');
  expect(facts['model']).toMatch(/^Box \[31mx+$/);
  expect(facts['model']).toHaveLength(128);
  expect(facts).not.toHaveProperty('vendor');
});

test.each([
  ['product_uuid', '00000000-0000-0000-0000-000000000000'],
  ['product_uuid', 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF'],
  ['product_uuid', '03000200-0400-0500-0006-000700080009'],
  ['product_uuid', 'Not Settable'],
  ['product_serial', '123456789'],
  ['product_serial', '0123456789ABCDEF'],
  ['product_serial', 'Chassis Serial Number'],
  ['board_serial', 'Base Board Serial Number'],
  ['chassis_asset_tag', 'No Asset Tag'],
  ['chassis_asset_tag', 'Asset-1234567890'],
  ['product_serial', '..................'],
])('readHostFacts takes no machine for another by a %s of %s', async (name, value) => {
  const facts = await factsOf({ [`sys/class/dmi/id/${name}`]: `${value}\n` });
  for (const fact of ['uuid', 'serial', 'boardSerial', 'assetTag']) expect(facts).not.toHaveProperty(fact);
});

test.each(['0123', 'F00F', 'XJ-7', 'System76-12', '1234567890123'])(
  'readHostFacts keeps the serial number %s, which is no placeholder',
  async (serial) => {
    const facts = await factsOf({ 'sys/class/dmi/id/product_serial': `${serial}\n` });
    expect(facts['serial']).toBe(serial);
  },
);
