"""What every body that is sent to the API keeps to: no field that does not exist, no number where a text belongs."""

from typing import Any

from rest_framework import serializers


class Input(serializers.Serializer[Any]):
    """Fields that are sent. One that does not exist is refused, so that a misspelt one cannot be lost in silence."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = sorted(set(map(str, data)) - set(self.fields))
            if unknown:
                raise serializers.ValidationError(
                    {unknown[0][:100]: [f"There is no such field; there are: {', '.join(self.fields)}."]}
                )
        return super().to_internal_value(data)


class StrictCharField(serializers.CharField):
    """A text: no number that would be turned into one."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            raise serializers.ValidationError("This must be text.")
        return super().to_internal_value(data)


class BoundedDictField(serializers.DictField):
    """An object of at most ``most`` entries."""

    most = 500

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and len(data) > self.most:
            raise serializers.ValidationError(f"There are more than {self.most} entries; send fewer.")
        return super().to_internal_value(data)


class StrictBooleanField(serializers.BooleanField):
    """true, false, or null where that may be: no "yes", no 1."""

    def to_internal_value(self, data: Any) -> Any:
        if data is not None and not isinstance(data, bool):
            raise serializers.ValidationError("This must be true, false or null.")
        return data
