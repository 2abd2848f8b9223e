import { expect, test } from 'vitest';
import { controlledNamespaces } from '#bundles/formats/bounds/controlled-namespaces';

const of = (targetNamespace: unknown) =>
  controlledNamespaces('helm.toolkit.fluxcd.io', 'HelmRelease', { spec: { targetNamespace } });

test('a namespace that is not text is judged by its JSON, a whole number beyond 2^53 too', () => {
  expect([of('shop'), of(7), of(9007199254740993n), of({ a: [9007199254740993n] })].flat()).toMatchObject([
    { namespace: 'shop' },
    { namespace: '7' },
    { namespace: '9007199254740993' },
    { namespace: '{"a":[9007199254740993]}' },
  ]);
});
