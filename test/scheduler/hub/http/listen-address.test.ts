import { expect, test } from 'vitest';
import { defaultHostnames, parseListen } from '../../../../scheduler/hub/http/listen-address.ts';
import { refusal } from '../../../bundles/refusal.ts';

test.each([
  ['127.0.0.1:8443', '127.0.0.1', 8443],
  ['[::]:0', '::', 0],
  ['[fe80::1%br-lan.100]:8443', 'fe80::1%br-lan.100', 8443],
  ['hub.example:443', 'hub.example', 443],
])('%s is a listen address', (text, host, port) => {
  expect(parseListen(text)).toEqual({ host, port });
});

test.each(['8443', ':8443', 'hub', 'hub:', 'hub:65536', '::1:8443', 'hub:84 43', 'https://hub:1'])(
  '%s is not a listen address',
  (text) => {
    expect(refusal(() => parseListen(text))).toBe('USAGE');
  },
);

test("the default names of the certificate are this machine's and the listen address", () => {
  const local = ['plant', 'localhost', '127.0.0.1', '::1'];
  expect(defaultHostnames({ host: '0.0.0.0', port: 1 }, 'Plant')).toEqual(local);
  expect(defaultHostnames({ host: '10.7.0.1', port: 1 }, 'plant')).toEqual(['10.7.0.1', ...local]);
  expect(defaultHostnames({ host: '::', port: 1 }, 'my_machine')).toEqual(local.slice(1));
});
