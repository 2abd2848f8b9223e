import { hostname } from 'node:os';
import { FleetError } from '#bundles/errors';
import type { Authority } from '#bundles/trust/root/certificate';
import { type Configuration, placeOfSetting } from '../../settings/configuration.ts';
import { defaultHostnames, type ListenAddress } from './listen-address.ts';
import type { CertificateSource } from './server-certificate.ts';

/** The files of the configuration, or the fleet's authority. @throws FleetError USAGE for half a pair */
export const certificateSource = (
  { tlsCertFile, tlsKeyFile, hostnames, file }: Configuration,
  authority: Authority,
  listen: ListenAddress,
): CertificateSource => {
  if (tlsCertFile !== undefined && tlsKeyFile !== undefined)
    return { kind: 'files', certificateFile: tlsCertFile, keyFile: tlsKeyFile };
  if (tlsCertFile === undefined && tlsKeyFile === undefined)
    return { kind: 'issued', authority, hostnames: hostnames ?? defaultHostnames(listen, hostname()) };
  const half = tlsCertFile === undefined ? 'tlsKeyFile' : 'tlsCertFile';
  throw new FleetError('USAGE', 'tlsCertFile and tlsKeyFile must be set together', {
    at: file !== undefined ? placeOfSetting(file, [half]) : undefined,
    hint: "Set both, or neither: then the fleet's authority issues a certificate",
  });
};
