import { readdir, readFile } from 'node:fs/promises';
import { arch, cpus, hostname, release, totalmem } from 'node:os';
import { join } from 'node:path';
import type { HostFacts } from '#bundles/trust/root/host-facts';

/** Characters of a fact, as bundles/schemas/request.schema.json says. */
const MAX_FACT = 128;

/** Architectures as Debian and container images call them. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm: 'armhf', ia32: 'i386' };

/** Placeholders of firmware vendors, which many machines share. */
const PLACEHOLDER =
  /^(?:to be filled.*|default string|not? (?:specified|applicable|available|present|settable|asset .*)|none|empty|invalid|(?:system|chassis|base ?board) .*|(?:asset-)?0?123456789(?:0|abcdef)?|unknown|n\/a|oem|[-.0*]+|[-f]+|x+|03000200-0400-0500-0006-000700080009)$/i;

/**
 * Reads facts about this machine from the kernel and the firmware. Unreadable facts and placeholders of a vendor are absent.
 * @param root '/' except in tests
 */
export const readHostFacts = async (root = '/'): Promise<HostFacts> => {
  const text = (path: string) => readFile(join(root, path), 'utf8').catch(() => '');
  const dmi = async (name: string): Promise<string> => {
    const value = clean(await text(`sys/class/dmi/id/${name}`));
    return PLACEHOLDER.test(value) ? '' : value;
  };
  const release_ = osRelease(await text('etc/os-release'));
  // Boards without DMI, such as the Raspberry Pi, have both in their device tree.
  const tree = async (name: string) => clean(await text(`proc/device-tree/${name}`));
  const facts = {
    architecture: ARCHITECTURES[arch()] ?? arch(),
    hostname: hostname(),
    kernel: release(),
    osId: release_('ID'),
    osVersion: release_('VERSION_ID'),
    osCodename: release_('VERSION_CODENAME'),
    memoryMib: String(Math.round(totalmem() / (1 << 20))),
    cpus: String(cpus().length),
    disks: (await disksOf(root)).join(' '),
    macs: (await macsOf(root)).join(' '),
    vendor: await dmi('sys_vendor'),
    model: (await dmi('product_name')) || (await tree('model')),
    serial: (await dmi('product_serial')) || (await tree('serial-number')),
    boardSerial: await dmi('board_serial'),
    uuid: (await dmi('product_uuid')).toLowerCase(),
    assetTag: await dmi('chassis_asset_tag'),
  };
  return Object.fromEntries(
    Object.entries(facts).flatMap(([name, value]) => {
      const cleaned = clean(value);
      return cleaned === '' ? [] : [[name, cleaned]];
    }),
  );
};

/** Without control characters and spaces at the ends; device trees end their texts with NUL. */
const clean = (text: string): string =>
  text
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, MAX_FACT)
    .trim();

const osRelease =
  (text: string) =>
  (key: string): string =>
    new RegExp(`^${key}="?([^"\n]*)"?$`, 'm').exec(text)?.[1] ?? '';

/** 'sda=476' for a disk of 476 GiB; neither loop and memory devices nor media that can be taken out. */
const disksOf = async (root: string): Promise<readonly string[]> => {
  const folder = join(root, 'sys/block');
  const names = await readdir(folder).catch(() => []);
  const disks = await Promise.all(
    names
      .filter((name) => /^(sd|hd|vd|xvd|nvme|mmcblk)[a-z0-9]+$/.test(name) && !/boot|rpmb/.test(name))
      .map(async (name) => {
        const [sectors, removable] = await Promise.all(
          ['size', 'removable'].map((file) => readFile(join(folder, name, file), 'utf8').catch(() => '0')),
        );
        return removable?.trim() === '1' ? [] : [`${name}=${Math.round(Number(sectors) / (1 << 21))}`];
      }),
  );
  return disks.flat().toSorted();
};

/** Only interfaces with a device: bridges and containers have none. */
const macsOf = async (root: string): Promise<readonly string[]> => {
  const folder = join(root, 'sys/class/net');
  const names = await readdir(folder).catch(() => []);
  const macs = await Promise.all(
    names.map(async (name) => {
      const device = await readdir(join(folder, name, 'device')).catch(() => undefined);
      const mac = await readFile(join(folder, name, 'address'), 'utf8').catch(() => '');
      return device && mac.trim() !== '00:00:00:00:00:00' ? [mac.trim().toLowerCase()] : [];
    }),
  );
  return macs.flat().toSorted();
};
