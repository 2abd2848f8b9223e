import { expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { secondsOfPackage } from '../../../../agent/apply/host/seconds-of-package.ts';
import { packageFiles, type TestPackage } from '../../../harness/fleets/signed-medium.ts';

const secondsOf = (more: Partial<TestPackage>): number =>
  secondsOfPackage({
    assignment: 'app',
    package: digestOf(''),
    siteValues: digestOf(''),
    files: new Map(packageFiles({ id: 'app', files: {}, ...more }).map(({ path, bytes }) => [path, bytes])),
    siteInputs: [],
  });
const unit = (settings: string): Partial<TestPackage> => ({
  files: { '/etc/systemd/system/press.service': `[Service]\nExecStart=/bin/true\n${settings}` },
  units: [{ name: 'press.service', enabled: true, active: true, restartOn: [] }],
});

test("secondsOf adds the timeouts of a package's checks and of its services' starts", () => {
  expect(secondsOf({})).toBe(0);
  const check = { type: 'exec', name: 'port', argv: ['true'], timeoutSeconds: 3600 } as const;
  expect(secondsOf({ checks: [check] })).toBe(3600);
  expect(secondsOf(unit('Type=oneshot\nTimeoutStartSec=infinity\n'))).toBe(Number.POSITIVE_INFINITY);
  expect(secondsOf(unit('Type=notify\nUser=press\nTimeoutStartSec=10min\nTimeoutStopSec=1s\n'))).toBe(601);
});
