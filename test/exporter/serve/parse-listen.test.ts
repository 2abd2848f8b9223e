import { expect, test } from 'vitest';
import { isFleetError } from '#bundles/errors';
import { parseListen } from '../../../exporter/serve/parse-listen.ts';

test.each([
  ['127.0.0.1:5000', { host: '127.0.0.1', port: 5000, loopback: true }],
  ['localhost:0', { host: 'localhost', port: 0, loopback: true }],
  ['[::1]:5000', { host: '[::1]', port: 5000, loopback: true }],
  ['[fe80::1%eth0]:5000', { host: '[fe80::1%eth0]', port: 5000, loopback: false }],
  ['0.0.0.0:5000', { host: '0.0.0.0', port: 5000, loopback: false }],
  ['edge.example:80', { host: 'edge.example', port: 80, loopback: false }],
])('parseListen reads %s', (text, listen) => {
  expect(parseListen(text)).toEqual(listen);
});

test.each(['', '5000', ':5000', 'edge.example', '127.0.0.1:70000', 'http://edge:5000', '::1:5000'])(
  'parseListen refuses %j',
  (text) => {
    const parse = () => {
      try {
        return parseListen(text);
      } catch (error) {
        return isFleetError(error, 'USAGE');
      }
    };
    expect(parse()).toBe(true);
  },
);
