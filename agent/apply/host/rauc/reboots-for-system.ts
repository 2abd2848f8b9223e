import { HOST_PACKAGE, parseHostPackage } from '#bundles/formats/bundle/host-package';
import type { DesiredPackage } from '../../../model/target.ts';
import type { HostTargetOptions } from '../host-options.ts';
import { readRauc } from './read-rauc.ts';
import { whyNoRauc } from './why-no-rauc.ts';

/** Whether the host has to boot another system for a package. @throws FleetError BUNDLE_FORMAT, RAUC_BLOCKED, TOOL_MISSING, ABORTED */
export const rebootsForSystem = async (
  options: HostTargetOptions,
  { files }: Pick<DesiredPackage, 'files'>,
  signal: AbortSignal,
): Promise<boolean> => {
  const { rauc } = parseHostPackage(files.get(HOST_PACKAGE) ?? Buffer.alloc(0));
  if (!rauc || whyNoRauc(options) !== undefined) return false;
  return (await readRauc(options, signal)).booted.version !== rauc.version;
};
