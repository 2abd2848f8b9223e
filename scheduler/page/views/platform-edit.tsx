import { Alert, NativeSelect, Text, Title } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { type LoaderFunctionArgs, useLoaderData, useNavigate, useSearchParams } from 'react-router';
import type { Platform, PlatformObject } from '#bundles/schemas/types/hub-decisions';
import { platform, platformObject } from '#bundles/transport/hub/client';
import { askAsAuthor, type NoAuthor } from '../api/author.ts';
import type { EditedObject } from '../api/platform-draft.ts';
import { NotAuthor } from '../parts/author/author-token.tsx';
import { type AuthorKind, kindOf } from '../parts/author/author-kinds.ts';

/** The editor brings the form library and YAML; only this view needs them. */
const PlatformEditor = lazy(() => import('../parts/author/platform-editor.tsx'));

type Edited = {
  readonly platform: Platform;
  readonly layer: string;
  readonly kind: string;
  /** undefined: it is new. */
  readonly object: PlatformObject | undefined;
  readonly about: AuthorKind | undefined;
  readonly schema: Awaited<ReturnType<AuthorKind['schema']>> | undefined;
};

export const readPlatformEdit = async ({ request }: LoaderFunctionArgs): Promise<Edited | NoAuthor> => {
  const query = new URL(request.url).searchParams;
  const [layer, kind, name] = [query.get('layer') ?? '', query.get('kind') ?? '', query.get('name')];
  const found = await askAsAuthor(platform, request.signal);
  if (typeof found === 'string') return found;
  const object =
    name === null
      ? undefined
      : await askAsAuthor((options) => platformObject({ layer, kind, name }, options), request.signal);
  if (typeof object === 'string') return object;
  const about = kindOf(found.form, kind);
  const schema = await about?.schema();
  return { platform: found, layer, kind, object, about, schema };
};

/** A new object keeps what was typed while its layer is chosen. */
const editedOf = ({ layer, kind, object }: Edited, name: string | null): EditedObject =>
  object === undefined ? [kind] : [kind, layer, name];

/** Creates or edits one object of the platform, as a form or as text. */
export const PlatformEditView = () => {
  const edited = useLoaderData<Edited | NoAuthor>();
  const [query] = useSearchParams();
  const navigate = useNavigate();
  const name = query.get('name');
  const title = typeof edited === 'string' ? 'Edit the platform' : (edited.about?.title ?? edited.kind);
  const named = name === null ? `Create: ${title.toLowerCase()}` : `${title} ${name}`;
  const heading = typeof edited === 'string' ? title : named;
  return (
    <>
      <title>{`${heading} - Fleet Ferry`}</title>
      <Title order={1}>{heading}</Title>
      {typeof edited === 'string' ? (
        <NotAuthor why={edited} />
      ) : (
        <>
          {edited.object === undefined && edited.about?.layer === undefined && (
            <NativeSelect
              mb="md"
              label="Where"
              description="base is shared by all environments; an environment's own folder is for it alone"
              value={edited.layer}
              data={edited.platform.layers.map((layer) => layer.name)}
              onChange={({ currentTarget: { value } }) => {
                const next = new URLSearchParams(query);
                next.set('layer', value);
                void navigate(`?${next.toString()}`, { replace: true });
              }}
            />
          )}
          {edited.object?.text === null ? (
            <Alert role="status" variant="default" title="This file has secret values">
              <Text>The hub does not show it. Edit {edited.object.file} in Git.</Text>
            </Alert>
          ) : (
            <Suspense fallback={<Text>Loading the editor</Text>}>
              <PlatformEditor
                key={JSON.stringify(editedOf(edited, name))}
                platform={edited.platform}
                layer={edited.layer}
                about={edited.about}
                schema={edited.schema}
                object={edited.object}
                edited={editedOf(edited, name)}
              />
            </Suspense>
          )}
        </>
      )}
    </>
  );
};
