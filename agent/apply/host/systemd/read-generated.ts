import { FleetError } from '#bundles/errors';
import type { HostTargetOptions } from '../host-options.ts';
import { systemctl } from './systemctl.ts';

/** A service that systemd has read from a generator and that runs, or stays active after it has run. */
export type Generated = {
  readonly name: string;
  /** Path of the file that the generator made it of. */
  readonly source: string;
};

/** Asks systemd for the services that run and that a generator made of a file. @throws FleetError IO if systemctl fails */
export const readGenerated = async (
  options: HostTargetOptions,
  signal: AbortSignal,
): Promise<readonly Generated[]> => {
  const words = [
    'show',
    '--property=Id,SourcePath',
    '--state=active,activating,reloading',
    '--',
    '*.service',
  ];
  const { code, stdout, stderr } = await systemctl(options, words, signal);
  if (code !== 0)
    throw new FleetError('IO', `systemd cannot be asked for its services: ${stderr.trim().split('\n')[0]}`);
  return stdout.split('\n\n').flatMap((block) => {
    const name = /^Id=(.+)$/m.exec(block)?.[1];
    const source = /^SourcePath=(.+)$/m.exec(block)?.[1];
    return name !== undefined && source !== undefined ? [{ name, source }] : [];
  });
};
