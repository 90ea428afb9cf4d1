# An image with ebb-kube, and nothing else: no shell, no root.  For a provider that is a command
# (--provider exec), make an image FROM this one and add the command.
#
#   docker build -f packaging/kube.Dockerfile -t ebb-kube .

FROM golang:1.26 AS build
WORKDIR /src
COPY go go
RUN cd go/kube && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o /ebb-kube ./cmd/ebb-kube

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /ebb-kube /usr/bin/ebb-kube
USER 65532:65532
ENTRYPOINT ["/usr/bin/ebb-kube"]
